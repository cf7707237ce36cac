# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Apptainer on a release whose libc is older than the one it was built against:
# the programs get a newer libc of their own, which nothing else sees.

APPTAINER_LIBC=/opt/apptainer-libc

rootfs_apptainer_libc() {
    local root=$1 mirror=$2 work=$1/opt/apptainer-deb lib=$1$APPTAINER_LIBC deb it
    mkdir -p "$work" "$lib"
    apt_download "$work" sid "$mirror" apptainer containernetworking-plugins
    apt_download "$work" trixie "$mirror" libc6
    for deb in "$work"/apptainer_*.deb "$work"/containernetworking-plugins_*.deb; do
        dpkg-deb -x "$deb" "$root"
    done
    ln -sf apptainer "$root/usr/bin/singularity" # else the package's postinst
    mkdir "$work/libc"
    dpkg-deb -x "$work"/libc6_*.deb "$work/libc"
    cp -a "$work"/libc/usr/lib/x86_64-linux-gnu/*.so* "$lib/"
    rm -rf "$work"
    while IFS= read -r it; do
        apptainer_needs_libc "$root" "${it#"$root"}" || continue
        chroot "$root" patchelf \
            --set-interpreter "$APPTAINER_LIBC/ld-linux-x86-64.so.2" \
            --set-rpath "$APPTAINER_LIBC" "${it#"$root"}"
    done < <(find "$root/usr/bin/apptainer" "$root/usr/libexec/apptainer" \
        "$root/usr/lib/x86_64-linux-gnu/apptainer" -type f -perm /111 2>/dev/null)
}

# Only programs which the tree's own libc cannot start. (ldd in a pipe to grep -q may die
# of the pipe, and pipefail then says no.)
apptainer_needs_libc() {
    local libraries
    libraries=$(chroot "$1" ldd "$2" 2>&1) || :
    [[ $libraries == *"version \`GLIBC_"*"' not found"* ]]
}
