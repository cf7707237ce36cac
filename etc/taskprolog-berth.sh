# SPDX-License-Identifier: Apache-2.0
# For the site's TaskProlog (a shell script; read this file with `.`): refuse a task whose
# image nobody has taken care of, instead of running it on the host. Where the plugin is on
# the node it has taken SLURM_BERTH_STEP away before the prolog runs; where it is missing
# the variable is still there. Slurm ends a task whose prolog fails.
if [ -n "${SLURM_BERTH_STEP:-}" ]; then
    [ "${SLURM_LOCALID:-0}" != 0 ] ||
        echo "berth: ${SLURMD_NODENAME:-this node}: the berth plugin is not loaded on this node; ask the administrators to install it (plugstack.conf)" >&2
    exit 1
fi
