# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the images a, b and c have in common; IMAGE_LETTER tells them apart.

post() {
    printf '%s\n' "$IMAGE_LETTER" >"$1/etc/berth-image"
    printf '#!/bin/sh\ncat /etc/berth-image\n' >"$1/usr/bin/whichimage"
    chmod 755 "$1/usr/bin/whichimage"
}

environment() { printf 'export BERTH_TEST_IMAGE=%s\n' "$IMAGE_LETTER"; }

runscript() { printf 'echo runscript "$@"\n'; }
