# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the images atm and ocn have in common; IMAGE_MODEL tells them apart: a program that
# says which rank it is, and what its image holds.

post() {
    printf '%s\n' "$IMAGE_MODEL" >"$1/etc/berth-image"
    cat >"$1/usr/bin/$IMAGE_MODEL" <<'END'
#!/bin/sh
read -r model </etc/berth-image
echo "rank $SLURM_PROCID of $SLURM_NTASKS on $SLURMD_NODENAME: $model 1.0"
END
    chmod 755 "$1/usr/bin/$IMAGE_MODEL"
}
