# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For the site's TaskProlog (a shell script): ends a task with an image on a node without the
# berth plugin, where Slurm would run the task on the host. The plugin removes
# SLURM_BERTH_STEP before the prolog runs; if the variable is still set, the plugin is
# missing. All components of a step have the same variable, so if one of them has an image, a
# node without the plugin runs none of them. Slurm shows the user what a TaskProlog prints
# after "print", and drops its standard error.
if [ -n "${SLURM_BERTH_STEP:-}" ]; then
    [ "${SLURM_LOCALID:-0}" != 0 ] ||
        echo "print berth: ${SLURMD_NODENAME:-this node}:" \
            "the berth plugin is not loaded on this node;" \
            "ask the administrators to install it (plugstack.conf)"
    exit 1
fi
