#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # what stands in single quotes is for another shell
# On a cluster with proctrack/cgroup, task/cgroup and an extern step (up --cgroup): Slurm sees
# and signals every process of a step, those of the container too, and a job has its memory; also
# with Slurm's own --container, without the plugin.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a

I=--container-image=/images/a.sif

# The group of a step is there as long as a process of it is. Those that the steps of a job
# share, its own and step_extern, were seen to stay without a process, that of a job also
# where no step had an image.
groups=(on n1 root bash -c 'find /sys/fs/cgroup -name "step_[0-9]*"
    find /sys/fs/cgroup -path "*/job_*/cgroup.procs" -exec grep -H . {} +; :')

PATIENCE=120
four=(4 -Q -w n1 -N1 -n4 "$I")

live "${four[@]}" sh -c "echo ready; $waits; cat /etc/berth-image"
seen=$(on n1 root bash -c 'for pid in $(pgrep -u alice -x "berth-.*|starter|squashfuse.*"); do
    sed -n "s/.*:freezer://p" "/proc/$pid/cgroup"; done' | sort -u)
matches "the container is in the cgroup of its step" '^/[^ ]*/uid_2001/job_[0-9]+/step_0$' "$seen"
go
ends "... which ends as usual" live 0

try "when a step has ended, nothing of its container is there" "" \
    "grep -E '^(berth-|starter|[Aa]pptainer|[Ss]ingularity|squashfuse)'" -- \
    salloc -Q -w n1 -N1 sh -c "srun --overlap $I true; srun --overlap ps -u alice -o comm="

try "the process that keeps the job's containers is in the cgroup of the extern step" \
    '~freezer:/[^ ]*/uid_2001/job_[0-9]+/step_extern' \
    -- salloc -Q -w n1 -N1 sh -c \
    "srun --overlap --container-lifetime=job $I true; srun --overlap sh -c '
    cat /proc/\$(pgrep -of \"^/usr/libexec/berth/berth-start --job \")/cgroup'"
soon "... and of that job: no cgroup of a step and no process is left" "" -- "${groups[@]}"

live "${four[@]}" sh -c \
    'trap "read -r x </etc/berth-image; echo \$x; exit 3" USR1; echo ready; while :; do sleep 0.1
        done'
on login alice scancel -s USR1 -u alice
ends "a signal to every process of the step: the application has it" live 3
printed "... and the files of its image" live 4 a

live "${four[@]}" sh -c 'trap "" TERM; echo ready; while :; do sleep 1; done'
on login alice scancel -u alice
ends "scancel, and the application does not care for SIGTERM" live '[1-9][0-9]*'
soon "scancel: no cgroup of a step and no process is left" "" -- "${groups[@]}"

live "${four[@]}" sh -c "echo ready; $waits; cat /etc/berth-image"
job=$(on login alice squeue -h -t RUNNING -o %i)
on login root scontrol suspend "$job"
soon "scontrol suspend: the step and its container are frozen" FROZEN -- \
    on n1 root bash -c "cat /sys/fs/cgroup/freezer/slurm*/uid_2001/job_$job/step_0/freezer.state"
on login root scontrol resume "$job"
go
ends "scontrol resume: they go on" live 0
printed "... in their image" live 4 a

live "${four[@]}" --mem=200M sh -c 'echo ready
    [ $SLURM_PROCID != 1 ] || exec dd if=/dev/zero of=/dev/null bs=600M count=1
    sleep 2; cat /etc/berth-image'
ends "a task that takes more memory than the job has is killed" live '137|1|125'
soon "out of memory: no cgroup of a step and no process is left" "" -- "${groups[@]}"

script array <<'SCRIPT'
#!/bin/bash
#SBATCH -Q -w n1 -n2 --array=1-3 --wait -o array.%a
srun --container-image=/images/a.sif sh -c 'echo $SLURM_ARRAY_TASK_ID $(cat /etc/berth-image)'
SCRIPT
alice sbatch array >"$work/array" 2>&1
equal "a job array" "1 a,1 a,2 a,2 a,3 a,3 a" "$(on login alice bash -c 'cat array.[123]' |
    paste -sd,)"

live "${four[@]}" sh -c \
    'echo ready; until [ -e $HOME/go ]; do echo tick; sleep 0.1; done; cat /etc/berth-image'
step=$(on login alice squeue -h -t RUNNING -o %i.0)
start attached alice sattach "$step"
await attached 4 tick
go
ends "a step to which sattach is attached ends" live 0
wait "${pid[attached]}"
printed "... and sattach says what it said" attached 4 a
soon "in the end: no cgroup of a step and no process is left" "" -- "${groups[@]}"

# Slurm's own --container.
container_option_without_plugin
C=--container=/images/a.sif
state() { alice scontrol show job "$1" | sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p'; }
live 4 -Q -w n1 -N1 -n4 "$C" --mem=200M --job-name=eater sh -c 'echo ready
    [ $SLURM_PROCID != 1 ] || exec dd if=/dev/zero of=/dev/null bs=600M count=1
    sleep 2; cat /etc/berth-image'
job=$(on login alice squeue -h -n eater -o %i)
ends "--container: a task that takes more memory than the job has is killed" live '137|1|125'
wait_for 30 has_no_job
equal "... the state of the job" OUT_OF_MEMORY "$(state "$job")"
script eater.sh <<'SCRIPT'
#!/bin/sh
cat /etc/berth-image
exec dd if=/dev/zero of=/dev/null bs=600M count=1
SCRIPT
job=$(alice sbatch --parsable -w n1 --mem=200M -o eater.out "$C" eater.sh)
wait_for 30 has_no_job
equal "... so is a batch script in the image" "a OUT_OF_MEMORY" \
    "$(on login alice head -n1 eater.out) $(state "$job")"
soon "... no cgroup of a step and no process is left" "" -- "${groups[@]}"
soon "... and nothing in SlurmdSpoolDir" "" -- spooled

finish
