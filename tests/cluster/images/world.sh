# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the images for tests of MPI have in common: both families as a release of Debian
# packages them, with the test programs of mpi/ in /opt/t/FAMILY.
# shellcheck disable=SC2034

IMAGE_SOURCES=(mpi)
IMAGE_SHARE=/opt/t

# world_build ROOT NAME [FAMILY [PREFIX]]...: the programs of each, and the image's marker.
world_build() {
    local root=$1
    printf '%s\n' "$2" >"$root/etc/berth-image"
    shift 2
    cp -r "${RECIPES:?}/../mpi" "$root/tmp/mpi"
    while (($#)); do
        chroot "$root" /tmp/mpi/build "$1" "/opt/t/$1" ${2:+"$2"}
        shift 2
    done
    rm -r "$root/tmp/mpi"
}

world_python() {
    cp "${RECIPES:?}/../mpi/who.py" "$1/opt/t/"
    gcc -O1 -shared -fPIC -o "$1/opt/t/libtell.so" "$RECIPES/../mpi/tell.c"
}

world_environment() { printf 'export BERTH_TEST_IMAGE=%s\n' "$1"; }
