# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the images oasisatm and oasisocn have in common: one of the toy models of oasis/, which
# IMAGE_MODEL names, on the coupler OASIS3-MCT as Debian packages it.
# shellcheck disable=SC2034

IMAGE_SOURCES=(mpi oasis)
IMAGE_TOOLS=(liboasis3-dev)

post() {
    printf '%s\n' "oasis${IMAGE_MODEL#toy}" >"$1/etc/berth-image"
    mkdir "$1/tmp/sources"
    cp -r "${RECIPES:?}/../mpi" "$RECIPES/../oasis" "$1/tmp/sources/"
    chroot "$1" /tmp/sources/oasis/build "$IMAGE_MODEL" "/usr/bin/$IMAGE_MODEL"
    rm -r "$1/tmp/sources"
}
