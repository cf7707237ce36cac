#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With SlurmdParameters=contain_spank (Slurm 24.05 and later), where Slurm calls most of the
# plugin's side in slurmstepd in children that have no descriptors of slurmstepd's.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b

A=--container-image=/images/a.sif
B=--container-image=/images/b.sif

matches "the option is set" 'contain_spank' "$(on n1 root scontrol show config |
    grep ^SlurmdParameters)"
equal "tasks share a container" "      3 a" \
    "$(alice srun -Q -w n1 -n3 "$A" sh -c \
    'echo "$(cat /etc/berth-image) $(readlink /proc/self/ns/user)"' 2>&1 |
        uniq -c | sed 's/ user:.*//')"
equal "components have their own" "a b" \
    "$(alice srun -Q -w n1 -n1 "$A" cat /etc/berth-image : -w n2 -n1 "$B" cat /etc/berth-image \
    2>&1 | sort | paste -sd' ')"
equal "a component without an image is on the host" "a host" \
    "$(alice srun -Q -w n1 -n1 "$A" cat /etc/berth-image : -w n2 -n1 \
        sh -c 'test -e /etc/berth-image || echo host' 2>&1 | sort | paste -sd' ')"
seen=$(alice srun -Q -w n1,n2 -N2 -n4 --container-image=/none.sif true 2>&1)
equal "a fault is one line from each node" \
    "n1: image '/none.sif': not found; check the path, and that the nodes see this file system
n2: image '/none.sif': not found; check the path, and that the nodes see this file system" \
    "$(sed -n 's/^berth: //p' <<<"$seen" | sort)"
seen=$(alice bash -c "time -p srun -Q -w n1 -n2 $A true" 2>&1)
matches "slurmstepd does not wait for what has ended" '^real [01]\.' "$seen"

alice srun -Q -w n1 -n2 "$A" sleep 300 >/dev/null 2>&1 &
wait_for 10 has_processes n1 sleep 2
on n1 root pkill -KILL -f '^slurmstepd: '
on n1 root bash -c 'rm -f /var/spool/slurmd/{n1_,hwloc_topo_}*' # Slurm's own
echo "# slurmstepd was killed"
nothing_left
on login alice scancel -u alice
wait
finish
