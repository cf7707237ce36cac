# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the images for tests of mpirun have in common: mpirun.mpich with mpiring.mpich, and
# mpirun.openmpi with mpiring.openmpi.
# shellcheck disable=SC2034

IMAGE_PACKAGES=(mpich libmpich12 openmpi-bin libopenmpi40)

post() {
    local family
    cp "${RECIPES:?}/mpiring.c" "$1/tmp/"
    for family in mpich openmpi; do
        chroot "$1" "mpicc.$family" -O1 -o "/usr/bin/mpiring.$family" /tmp/mpiring.c
    done
    rm "$1/tmp/mpiring.c"
    echo "$IMAGE_BASE" >"$1/etc/berth-image"
}
