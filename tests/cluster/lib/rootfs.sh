# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# One root tree per release, unpacked once and kept in the cache; every host of
# every cluster is an overlay on it.

# rootfs_recipe RELEASE: all that decides what the tree holds.
rootfs_recipe() {
    release_packages "$1"
    declare -f rootfs_build rootfs_finish rootfs_apptainer_libc \
        release_preferences release_sources
}

# rootfs_find RELEASE: sets REPLY to the tree's path, whether it exists or not.
rootfs_find() {
    local hash
    hash=$(rootfs_recipe "$1" | sha256sum)
    REPLY=$BERTH_CACHE/rootfs/$1-${hash:0:12}
}

# rootfs_ensure RELEASE: sets REPLY_TREE to a tree that is there.
rootfs_ensure() {
    rootfs_find "$1"
    REPLY_TREE=$REPLY
    unpack_once "$1" "$REPLY_TREE" "Debian $1" rootfs_renew "$1" "$REPLY_TREE"
}

# rootfs_renew RELEASE TREE: makes TREE, and removes the trees of older recipes.
rootfs_renew() {
    local old
    rootfs_build "$1" "$2"
    for old in "$BERTH_CACHE/rootfs/$1"-*; do
        rootfs_retire "$old" "$2"
    done
}

# rootfs_retire OLD KEEP: removes a tree of an older recipe, unless a cluster
# that is up stands on it.
rootfs_retire() {
    local old=$1 keep=$2 used
    [[ $old != "$keep" && -d $old ]] || return 0
    for used in "$STATE_ROOT"/*/rootfs; do
        [[ -f $used && :$(<"$used") == *:"$old" ]] && return 0
    done
    rm -rf --one-file-system -- "$old" "$old.log"
}

# The tree appears under its own name only when it is complete.
rootfs_build() {
    local release=$1 tree=$2 mirror half=$2.half include
    mirror=$(release_mirror)
    [[ -n $mirror ]] || die "apt knows no Debian mirror; see 'apt-get indextargets'"
    rm -rf --one-file-system -- "$half"
    CLEANUP_PATHS+=("$half" "$half.prefs")
    release_preferences "$release" >"$half.prefs"
    include=$(release_packages "$release" | paste -sd,)
    release_sources "$release" "$mirror" >"$half.list"
    CLEANUP_PATHS+=("$half.list")
    quietly "$tree.log" mmdebstrap --variant=apt --include="$include" \
        --aptopt='Acquire::Check-Valid-Until "false"' \
        --aptopt='APT::Install-Recommends "false"' \
        --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt=force-unsafe-io \
        --setup-hook="mkdir -p \"\$1/etc/apt/preferences.d\" && cp '$half.prefs' \"\$1/etc/apt/preferences.d/apptainer\"" \
        "$release" "$half" "$half.list"
    rootfs_finish "$release" "$half" "$mirror" >>"$tree.log" 2>&1 ||
        { tail -n 30 "$tree.log" >&2; die "could not finish $half"; }
    rm -f "$half.prefs" "$half.list"
    mv -T "$half" "$tree"
}

# What packages do not say: people, directories, no name service.
rootfs_finish() {
    local release=$1 root=$2 mirror=$3
    chroot "$root" groupadd -g 3000 climate
    chroot "$root" useradd -M -u 2001 -s /bin/bash -G climate alice
    chroot "$root" useradd -M -u 2002 -s /bin/bash -G climate bob
    mkdir -p "$root"/{images,shared,home} "$root/etc/slurm/plugstack.conf.d"
    printf 'hosts: files\npasswd: files\ngroup: files\nshadow: files\n' \
        >"$root/etc/nsswitch.conf"
    rm -f "$root/etc/resolv.conf" "$root/etc/apt/sources.list.d/"*
    : >"$root/etc/resolv.conf"
    ln -sf /usr/share/zoneinfo/Etc/UTC "$root/etc/localtime" # Apptainer wants it
    [[ $release != bookworm ]] || rootfs_apptainer_libc "$root" "$mirror"
}
