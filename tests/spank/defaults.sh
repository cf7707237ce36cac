#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The options of sbatch and salloc are the defaults of the sruns in the job.
# shellcheck source=tests/spank/lib.sh
. "${srcdir:-.}/tests/spank/lib.sh"

A=image=T/a
B=image=T/b
srun="'$fake' srun"

expect 'the batch step runs on the host, whatever the default' 0 \
    '0 host: job.sh 1' \
    sbatch --container-image=a job.sh 1
expect 'the steps inside get the default' 0 \
    "0 $A: ./x" \
    FAKE_SCRIPT="$srun ./x" sbatch --container-image=a job.sh
expect 'every option is a default' 0 \
    "0 $A&mounts=/d:/d:rw&mounts=/e:/e:rw&workdir=/w&no-mount-home=&writable=&entrypoint=&env=X&args=-a&mpi-bind=hybrid: ./x" \
    FAKE_SCRIPT="$srun ./x" sbatch --container-image=a --container-mounts=/d \
    --container-mounts=/e --container-workdir=/w --no-container-mount-home \
    --container-writable --container-entrypoint --container-env=X --container-args=-a --mpi-bind=hybrid job.sh
expect 'a lifetime, too, which a step overrides' 0 \
    "0 $A&lifetime=job: ./x
1 $B&lifetime=step: ./y" \
    FAKE_SCRIPT="$srun ./x : --container-image=b --container-lifetime=step ./y" \
    sbatch --container-image=a --container-lifetime=job job.sh
expect 'without a default there is none' 0 \
    '0 host: ./x' \
    FAKE_SCRIPT="$srun ./x" sbatch job.sh
expect 'a step overrides the default' 0 \
    "0 $B: ./x" \
    FAKE_SCRIPT="$srun --container-image=b ./x" sbatch --container-image=a job.sh
expect 'none cancels the default' 0 \
    '0 host: ./x' \
    FAKE_SCRIPT="$srun --container-image=none ./x" \
    sbatch --container-image=a --container-mounts=/d job.sh
expect 'lists of a step come behind those of the default' 0 \
    "0 $A&mounts=/d:/d:rw&mounts=/e:/e:rw: ./x" \
    FAKE_SCRIPT="$srun --container-mounts=/e ./x" \
    sbatch --container-image=a --container-mounts=/d job.sh
expect 'a default without an image waits for one' 0 \
    "0 $A&mounts=/d:/d:rw: ./x" \
    FAKE_SCRIPT="$srun --container-image=a ./x" sbatch --container-mounts=/d job.sh
expect 'a default without an image harms nobody' 0 \
    '0 host: ./x' \
    FAKE_SCRIPT="$srun ./x" sbatch --container-mounts=/d job.sh
expect 'one component overrides the default' 0 \
    "0 $A: ./x
1 $B: ./y
2 $A: ./z" \
    FAKE_SCRIPT="$srun ./x : --container-image=b ./y : ./z" \
    sbatch --container-image=a job.sh
expect 'one component cancels the default' 0 \
    "0 host: ./x
1 $A: ./y" \
    FAKE_SCRIPT="$srun --container-image=none ./x : ./y" sbatch --container-image=a job.sh
expect 'a default under --export=NONE' 0 \
    "0 $A: ./x
1 $B: ./y" \
    FAKE_SCRIPT="$srun ./x : --container-image=b ./y" \
    sbatch --export=NONE --container-image=a job.sh
expect 'the #SBATCH lines are a default too' 0 \
    "0 $A&mounts=/d:/d:rw: ./x" \
    FAKE_HEADER='--container-image=a --container-mounts=/d' FAKE_SCRIPT="$srun ./x" \
    sbatch job.sh
expect 'a second srun inside knows nothing of the first' 0 \
    "0 $B: ./x
0 $A: ./y" \
    FAKE_SCRIPT="$srun --container-image=b ./x && $srun ./y" sbatch --container-image=a job.sh
expect 'sbatch inside a step starts anew' 0 \
    '0 host: ./x' \
    SLURM_BERTH_JOB="1;*:image=$T/a;." SLURM_BERTH_STEP="1;*:image=$T/a;." \
    FAKE_SCRIPT="$srun ./x" sbatch job.sh
expect 'salloc is like sbatch' 0 \
    "0 $A: ./x
1 $B: ./y" \
    salloc --container-image=a "$fake" srun ./x : --container-image=b ./y

ADVICE='sbatch: error: berth: the components of this job have different container options, and a job has one default for all of its sruns; give the same to all components, or give them to the sruns inside instead: srun --container-image=A ... : --container-image=B ...'
expect 'components of a batch job that differ are refused' 1 \
    "$ADVICE" \
    sbatch --container-image=a : --container-image=b job.sh
expect 'an image for the first component only is refused' 1 \
    "$ADVICE" \
    sbatch --container-image=a : -n2 job.sh
expect 'an image for the second component only is refused' 1 \
    "$ADVICE" \
    sbatch -n2 : --container-image=a job.sh
expect 'components of a batch job that agree are one default' 0 \
    "0 $A: ./x
1 $A: ./y" \
    FAKE_SCRIPT="$srun ./x : ./y" sbatch --container-image=a : --container-image=a job.sh
expect '#SBATCH components that differ are refused' 1 \
    "$ADVICE" \
    FAKE_HEADER='--container-image=a : --container-image=b' sbatch job.sh
expect '#SBATCH components that agree are one default' 0 \
    "0 $A: ./x
1 $A: ./y" \
    FAKE_HEADER='--container-image=a : --container-image=a' \
    FAKE_SCRIPT="$srun ./x : ./y" sbatch job.sh
expect 'a het batch job without options' 0 \
    "0 $A: ./x
1 $B: ./y" \
    FAKE_SCRIPT="$srun --container-image=a ./x : --container-image=b ./y" \
    sbatch -n1 : -n2 job.sh
expect 'a default that is not ours is refused' 1 \
    "srun: error: berth: SLURM_BERTH_JOB: internal data is damaged (x); have one release of berth on all hosts, and set no variable of berth by hand" \
    SLURM_JOB_ID=100 SLURM_BERTH_JOB=x srun ./x
expect 'a default for several components is refused' 1 \
    "srun: error: berth: internal data is damaged (SLURM_BERTH_JOB); have one release of berth on all hosts, and set no variable of berth by hand" \
    SLURM_JOB_ID=100 "SLURM_BERTH_JOB=1;0:image=/a;1:image=/b;." srun ./x

expect 'an account tells where an option comes from' 0 \
    "srun: berth: component 0: --container-image: 'T/b' of its environment, over 'T/a' of the job (sbatch, salloc)
srun: berth: component 0: --container-workdir: '/v' of the command line of srun, over '/w' of the job (sbatch, salloc)
srun: berth: component 0: --mpi-bind: 'hybrid' of the job (sbatch, salloc)
0 $B&workdir=/v&mpi-bind=hybrid&explain=text: ./x" \
    FAKE_SCRIPT="BERTH_CONTAINER_IMAGE=b $srun --container-workdir=/v --container-explain ./x" \
    sbatch --container-image=a --container-workdir=/w --mpi-bind=hybrid job.sh

finish
