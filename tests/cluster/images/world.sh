# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the images for tests of MPI have in common: the test programs of mpi/ in
# /opt/t/LIBRARY, for each library that an image has.
# shellcheck disable=SC2034

IMAGE_SOURCES=(mpi)
IMAGE_SHARE=/opt/t

# world_build ROOT NAME LIBRARY...: the programs for each, and the image's marker NAME. A
# LIBRARY is FAMILY, or FAMILY-VERSION as its wheel is called.
world_build() {
    local root=$1 it
    printf '%s\n' "$2" >"$root/etc/berth-image"
    shift 2
    cp -r "${RECIPES:?}/../mpi" "$root/tmp/mpi"
    for it; do
        case $it in
        impi-*) set -- "/opt/$it" /opt/mpich-4.2.3/include ;;
        *-*) set -- "/opt/$it" ;;
        *) set -- ;;
        esac
        chroot "$root" /tmp/mpi/build "$it" "/opt/t/$it" "$@"
    done
    rm -r "$root/tmp/mpi"
}

world_environment() { printf 'export BERTH_TEST_IMAGE=%s\n' "$1"; }
