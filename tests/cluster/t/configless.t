#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A node that has no /etc/slurm and gets its configuration from slurmctld ("configless").

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a
A=--container-image=/images/a.sif
plugin=$(on login root sed -nE 's/^required ([^ ]+).*/\1/p' /etc/slurm/plugstack.conf.d/berth.conf)

# While slurmctld is configured anew n4 has no slurmd, lest that is configured anew while it
# starts or ends.
on n4 root slurmd-restart end
on n4 root mv /etc/slurm /etc/slurm.saved
on login root bash -c \
    'cd /etc/slurm && cp slurm.conf slurm.conf.saved && cp plugstack.conf plugstack.conf.saved &&
    sed -i /^PlugStackConfig/d slurm.conf && echo SlurmctldParameters=enable_configless >>slurm.conf
    echo "required $1" >plugstack.conf && timeout 60 scontrol reconfigure' - "$plugin"
on n4 root bash -c 'cd / && timeout 60 slurmd --conf-server login </dev/null' >/dev/null
# slurmctld may tell it once more that the configuration is another one.
LIMIT=30 wait_for 60 alice srun -Q -w n4 true >/dev/null 2>&1

try "a step on such a node runs in its image" a -- srun -Q -w n4 "$A" cat /etc/berth-image
try "a step that is started on such a node, too" $'a\na' -- \
    on n4 alice timeout 60 srun -Q -w n3,n4 -N2 --chdir=/ "$A" cat /etc/berth-image
try "doctor finds the configuration" \
    '~ok    plugstack.conf: /run/slurm/conf/plugstack.conf:1: plugin 1 of 1' "grep plugstack" -- \
    on n4 alice berth doctor

# Slurm hands out plugstack.conf, and not what it includes.
on login root bash -c "echo 'include /etc/slurm/plugstack.conf.d/*.conf' >/etc/slurm/plugstack.conf
    timeout 60 scontrol reconfigure"
wait_for 60 on n4 root grep -q include /run/slurm/conf/plugstack.conf
try "doctor tells of a line that no such node has" \
    "~wrong plugstack.conf: '/run/slurm/conf/plugstack.conf' and what it includes do not name
        berth.so.*status 1" -- \
    on n4 alice berth doctor

on n4 root slurmd-restart end
on n4 root bash -c 'mv /etc/slurm.saved /etc/slurm; rm -rf /run/slurm/conf'
on login root bash -c \
    'cd /etc/slurm && mv slurm.conf.saved slurm.conf && mv plugstack.conf.saved plugstack.conf &&
    timeout 60 scontrol reconfigure'
"$tool" restart "$name" n4 >/dev/null 2>&1
LIMIT=30 wait_for 60 alice srun -Q -w n4 true >/dev/null 2>&1
finish
