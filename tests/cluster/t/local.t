#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The image's own mpirun in a task (--mpi-bind=local, local-each): all of its ranks are on
# this node and on the task's CPUs, with the mpirun of MPICH 4.0 and 4.2 (tests/every: 5.0), of
# Open MPI 4.1 and 5.0 (6.0), and of Intel MPI 2021.19. Many at once: many.t.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/mpiruns.sh"

need_images mpich openmpi runtrixie mpipypi ${BERTH_EVERY:+runsid}
types="pmi2 none"
! has_pmix || types+=" pmix"
worlds=("mpich mpirun mpiring MPICH.*4[.]0" "${worlds[@]}")

# One task that has 16 CPUs.
one=(srun -N1 -n1 -c16 --mpi-bind=local)

for it in "${worlds[@]}"; do
    read -r image mpirun program library <<<"$it"
    [[ $image == mpich || $image == openmpi ]] && managers=$types || managers=pmi2
    for type in $managers; do
        world "$image, $mpirun, --mpi=$type: 16 ranks" 16 "$library" \
            env "SLURM_MPI_TYPE=$type" "${one[@]}" --container-image="/images/$image.sif" \
            "$mpirun" -n 16 "$program"
    done
done
# In a batch job Slurm names itself as the way to start anything (HYDRA_BOOTSTRAP=slurm).
script_submit
script batch <<'END'
#!/bin/bash
#SBATCH -N1 -n16 -o batch.out
for image in mpich openmpi; do
    srun -Q -n1 -c16 --mpi-bind=local --container-image=/images/$image.sif mpirun -n 16 mpiring
done 2>&1 | grep -v '^rank'
srun -Q -n1 -c16 --mpi-bind=local --container-image=/images/mpipypi.sif \
    ./impi-rt-2021.19.0 -n 2 /opt/t/impi-rt-2021.19.0/who 2>&1 | grep -c '^rank . of 2 .*Intel'
srun -Q --mpi-bind=local --container-image=/images/mpich.sif mpirun -n 16 mpiring 2>&1 | grep berth
END
both="ring of 16 passed
ring of 16 passed
2"
tasks="berth: n[1-4]: --mpi-bind=local: only one task may start an mpirun, but 16 tasks would; use
        -n1 -c16, or --mpi-bind=local-each for an mpirun in every task"
matches "in a batch job, and the tasks of the job are not the step's" "^$both
$tasks\$" "$(alice bash -c './submit batch; cat batch.out')"
matches "in a batch job with --export=NONE" "^$both
$tasks\$" "$(alice bash -c './submit --export=NONE batch; cat batch.out')"

# What is in the task. Slurm leaves a socket of its own open in those of --mpi=pmix.
script seen <<'END'
#!/bin/sh
env | grep -E '^(SLURM|PMI|PALS|HYDRA|I_MPI_HYDRA)' | sed 's/=.*//' | sort |
    grep -vx -e SLURM_JOB_END_TIME -e 'PMIX_MCA.*' | tr '\n' ' '
find /proc/self/fd -lname 'socket:*' | wc -l
END
for type in $types; do
    equal "--mpi=$type: variables and sockets of Slurm" \
        "SLURM_CPUS_ON_NODE SLURM_JOB_NAME SLURM_SUBMIT_DIR $([[ $type == pmix ]]; echo \
        $((1 - $?)))" \
        "$(alice env HYDRA_BOOTSTRAP=slurm srun --mpi="$type" -n1 -c2 --mpi-bind=local \
            --container-image=/images/mpich.sif ./seen 2>&1)"
done

try "Intel MPI: ... also when they have bound themselves" '~\{1\}.*\{1\}' -- \
    "${one[@]}" --container-image=/images/mpipypi.sif env I_MPI_DEBUG=4 taskset -c 1 \
    ./impi-rt-2021.19.0 -n 2 /opt/t/impi-rt-2021.19.0/who
equal "Open MPI: more ranks than CPUs" 4 \
    "$(alice srun -n1 --mpi-bind=local --container-image=/images/openmpi.sif mpirun -n 4 true &&
    echo 4)"

# Or one that ends takes the directory away from one that begins.
equal "Open MPI 4: mpiruns of a node have a session directory each" "0 1" \
    "$(alice srun -w n1 -n2 --mpi-bind=local-each --container-image=/images/openmpi.sif mpirun -n \
    1 \
        sh -c 'ls -d /tmp/ompi*.$SLURM_PROCID | sed "s/.*[.]//"' | sort | paste -sd' ')"
equal "... and leave none" "" "$(on n1 root bash -c 'ls -d /tmp/ompi* 2>/dev/null; :')"

# A node name that does not resolve, and no ssh; ranks stay on the CPUs of the task (nodes of
# the test have two, and Slurm binds to none); and the status.
script empty </dev/null
alice chmod -x empty
none=/home/alice/empty
for it in "${worlds[@]}"; do
    read -r image mpirun program library <<<"$it"
    mounts=$none:/etc/hosts,$none:/etc/resolv.conf
    [[ $image == mpich || $image == mpipypi ]] || mounts+=,$none:/usr/bin/ssh
    in=("${one[@]}" --container-image="/images/$image.sif")
    world "$image, $mpirun: no ssh, and the node's name is not known" 2 "$library" "${in[@]}" \
        --container-mounts=$mounts \
        sh -c "command -v ssh rsh; getent hosts \$(hostname); exec $mpirun -n 2 $program"
    try "$image, $mpirun: ranks stay where the task is bound" $'1\n1' -- \
        "${in[@]}" taskset -c 1 "$mpirun" -n 2 awk '/Cpus_allowed_list/ { print $2 }' \
        /proc/self/status
    try "$image, $mpirun: the exit status is mpirun's" "status 3" "grep ^status" \
        -- "${in[@]}" "$mpirun" -n 2 sh -c 'exit 3'
done

# A container for each task alone.
for image in mpich openmpi; do
    world "$image: where no container is shared" 16 "" \
        "${one[@]}" --container-image=/images/$image.sif --mpi=pmi2 --container-args=--pid mpirun \
        -n 16 mpiring
done

# How it ends.
script cancelled <<'END'
#!/bin/bash
for it in mpich openmpi; do
    srun -n1 -c2 --mpi-bind=local --container-image=/images/$it.sif mpirun -n 2 sleep 300 &
done
until [[ -e cancelled.go ]]; do sleep 0.1; done
END
alice rm -f cancelled.go
start cancelled alice salloc -Q -w n1 -n4 ./cancelled
wait_for 30 has_processes n1 sleep 4
alice touch cancelled.go
wait "${pid[cancelled]}"

finish
