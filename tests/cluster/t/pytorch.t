#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The variables by which the processes of PyTorch find each other, in an image with
# PYTORCH_VERSION: what tasks get on several nodes, what the user, the job, the image and the
# site say otherwise, and what --container-explain prints.

# shellcheck disable=SC2016 # for shells in containers
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a pytorch
at_exit 'on login alice rm -rf torch torch.sqsh'

P=--container-image=/images/pytorch.sif
see='echo $MASTER_ADDR:$MASTER_PORT $RANK/$WORLD_SIZE $LOCAL_RANK ${OMP_NUM_THREADS-no threads}'
S=(srun -w "n1,n2" -N2 -n4)
port='s/:61[0-9]{3} |:6[2-5][0-9]{3} / /'

try "tasks on two nodes" "n1 0/4 0 1${nl}n1 1/4 1 1${nl}n1 2/4 0 1${nl}n1 3/4 1 1" \
    "sed -E '$port' | sort" -- "${S[@]}" --ntasks-per-node=2 "$P" sh -c "$see"
try "a task on each node: threads are left to PyTorch" "n1 0/2 0 no threads${nl}n1 1/2 0 no threads" \
    "sed -E '$port' | sort" -- srun -w "n1,n2" -N2 -n2 "$P" sh -c "$see"
try "the port is that of the job" yes -- srun -w n1 -n1 "$P" \
    sh -c '[ $MASTER_PORT = $((SLURM_JOB_ID % 4536 + 61000)) ] && echo yes'
try "the first host of the step, not of the job" "n2 0/1 0 no threads" "sed -E '$port'" -- \
    salloc -Q -w "n1,n2" -N2 srun -w n2 -N1 -n1 "$P" sh -c "$see"
try "another image gets none" ": / no threads" -- srun -w n1 -n1 --container-image=/images/a.sif sh -c "$see"
try "the user's variables and --container-env win" "here:29500 0/1 0 7" -- \
    env MASTER_ADDR=here OMP_NUM_THREADS=7 srun -w n1 -n1 "$P" --container-env=MASTER_PORT=29500 sh -c "$see"
try "the container of a job has them for each step" "0 1" "sort | paste -sd' '" -- salloc -Q -w n1 -n2 sh -c \
    "srun -n1 $P --container-lifetime=job true; srun -n2 $P --container-lifetime=job sh -c 'echo \$RANK'"

try "a step that a task starts has ranks of its own" "0/2 0 1/2 0" "sort | paste -sd' '" -- \
    salloc -Q -w n1,n2 -N2 srun -w n1 -N1 -n1 "$P" srun -Q -N2 -n2 sh -c 'echo $RANK/$WORLD_SIZE $LOCAL_RANK'
script job.sh <<'END'
#!/bin/sh
echo script ${RANK-none} ${LOCAL_RANK-none} ${MASTER_PORT-none}
srun -Q sh -c 'echo $RANK/$WORLD_SIZE $LOCAL_RANK $MASTER_ADDR'
END
try "a batch script in the image is not a task; its steps have ranks" \
    "0/4 0 n1${nl}1/4 1 n1${nl}2/4 0 n1${nl}3/4 1 n1${nl}script none none none" -- \
    sh -c "rm -f job.out; sbatch -Q -W -o job.out -w n1,n2 -N2 --ntasks-per-node=2 $P --container-script job.sh; sort job.out"

on login alice bash -ec 'rm -rf torch torch.sqsh; mkdir torch; cp -a /images/a.dir/{bin,etc,lib,lib64,usr} torch/
    chmod u+w torch/etc; echo PYTORCH_VERSION=2.2 >torch/etc/environment
    echo WORLD_SIZE=12 >>torch/etc/environment
    mksquashfs torch torch.sqsh -quiet -noappend -no-progress; chmod -R u+w torch; rm -rf torch' || exit 1
try "a squashfs file of enroot; what the image sets is left alone" "n1 0/12 0 no threads" "sed -E '$port'" -- \
    srun -w n1 -n1 --container-image=torch.sqsh sh -c "$see"

explain=(srun -w n1 -n2 "$P" --container-env=RANK=x)
try "explain names them" "~variables: all that Slurm passes; yours: RANK; for PyTorch: MASTER_ADDR, MASTER_PORT, WORLD_SIZE, LOCAL_RANK, OMP_NUM_THREADS" \
    -- "${explain[@]}" --container-explain true
try "explain has source and reason" "~\"MASTER_ADDR\".*\"n1\".*\"pytorch\".*the first host of SLURM_STEP_NODELIST" \
    -- "${explain[@]}" --container-explain=json true

site <<<'environment: {pytorch: [MASTER_ADDR, MASTER_PORT=29500, RANK, NCCL_DEBUG=INFO]}'
try "a site changes the list" "n1:29500 0/ no threads INFO" -- srun -w n1 -n1 "$P" sh -c "$see \$NCCL_DEBUG"
site <<<'environment: {pytorch: none}'
try "a site wants none" ": / no threads" -- srun -w n1 -n1 "$P" sh -c "$see"
site <<<'environment: {unset: [MASTER_ADDR]}'
try "what a site unsets is unset" "no 0" -- srun -w n1 -n1 "$P" sh -c 'echo ${MASTER_ADDR-no} $RANK'
site <<<'runtime: {share: no}'
try "explain claims nothing for containers of one task" none "grep -o 'for PyTorch' || echo none" -- \
    srun -w n1 -n1 "$P" --container-explain true
site </dev/null
finish
