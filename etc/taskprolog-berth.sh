# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For the site's TaskProlog (a shell script): refuse a task whose image nobody has taken
# care of, instead of running it on the host. Where the plugin is on the node it has taken
# SLURM_BERTH_STEP away before the prolog runs; where it is missing the variable is still
# there. The variable is the same for all components of a step, and a prolog cannot tell of
# which one the task is: where one has an image, a node without the plugin runs none. Slurm shows the user what a TaskProlog prints after the word "print", and drops
# its standard error.
if [ -n "${SLURM_BERTH_STEP:-}" ]; then
    [ "${SLURM_LOCALID:-0}" != 0 ] ||
        echo "print berth: ${SLURMD_NODENAME:-this node}: the berth plugin is not loaded on this node; ask the administrators to install it (plugstack.conf)"
    exit 1
fi
