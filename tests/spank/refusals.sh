#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is wrong is said in one line where it costs no allocation, with exit status 1,
# whether plugstack.conf says required or optional.
# shellcheck source=tests/spank/lib.sh
. "${srcdir:-.}/tests/spank/lib.sh"

# refuse NAME TEXT WORD...: by srun and sbatch, required and optional.
refuse()
{
    refused=$1
    sentence=$2
    shift 2
    expect "$refused" 1 "srun: error: berth: $sentence" \
        SLURM_JOB_ID=100 srun "$@" ./x
    expect "$refused, when optional" 1 "srun: error: berth: $sentence" \
        FAKE_OPTIONAL=1 SLURM_JOB_ID=100 srun "$@" ./x
    expect "$refused, in the second component" 1 "srun: error: berth: $sentence" \
        SLURM_JOB_ID=100 srun --container-image=a ./x : "$@" ./y
    expect "$refused, by sbatch" 1 "sbatch: error: berth: $sentence" \
        FAKE_OPTIONAL=1 sbatch "$@" job.sh
}

refuse 'another image in the same component' \
    "--container-image: given twice, 'T/a' and 'T/b'; expected one value for each component" \
    --container-image=a --container-image=b
refuse 'an image and none in the same component' \
    "--container-image: given twice, 'T/a' and 'none'; expected one value for each component" \
    --container-image=a --container-image=none
refuse 'another working directory' \
    "--container-workdir: given twice, '/a' and '/b'; expected one value for each component" \
    --container-image=a --container-workdir=/a --container-workdir=/b
refuse 'an empty image' \
    '--container-image: the value is empty; give one, or leave the option out' --container-image=
refuse 'a URI of another kind' \
    "--container-image: 'file:///a.sif': cannot be pulled; expected docker://, oras:// or library://, or a SIF file or a directory" \
    --container-image=file:///a.sif
refuse 'a mount with too many colons' \
    "--container-mounts: '/a:/b:ro:x' is not a mount; expected SRC[:DST[:ro|rw]][,...]" \
    --container-image=a --container-mounts=/a:/b:ro:x
refuse 'a mount mode' \
    "--container-mounts: '/a:/b:r': 'r' is not a mount mode; expected ro or rw" \
    --container-image=a --container-mounts=/a:/b:r
refuse 'a relative destination' \
    "--container-mounts: '/a:b': 'b' is not a place in the image; a destination starts with /" \
    --container-image=a --container-mounts=/a:b
refuse 'a relative working directory' \
    "--container-workdir: 'w' is not absolute; expected a directory in the image, from /" \
    --container-image=a --container-workdir=w
refuse 'home and no home' \
    '--no-container-mount-home: given together with its opposite; expected one of --container-mount-home and --no-container-mount-home' \
    --container-image=a --container-mount-home --no-container-mount-home
refuse 'a variable without a name' \
    "--container-env: '=x' is not a variable; expected NAME or NAME=VALUE (write \\, for a comma in a value)" \
    --container-image=a --container-env==x
refuse 'a mode of --mpi-bind' \
    "--mpi-bind: 'Host' is not a mode; expected auto, host, hybrid, local, local-each, off, or the name of a profile" \
    --container-image=a --mpi-bind=Host
refuse 'the first of two faults' \
    "--container-workdir: 'v' is not absolute; expected a directory in the image, from /" \
    --container-image=a --container-workdir=v --container-mounts=/a:b
refuse 'other options with none' \
    '--container-image=none: the other container options mean nothing on the host; leave them out' \
    --container-image=none --container-writable
refuse 'what is not an image' \
    "image 'T/bad.sif': not an image; expected a SIF file (made by 'singularity build' or 'singularity pull') or a sandbox directory" \
    --container-image=bad.sif
refuse 'a control character in a value' \
    "--container-workdir: '\\x1b[2Jw\\nx' is not absolute; expected a directory in the image, from /" \
    --container-image=a --container-workdir="$(printf '\033[2Jw\nx')"

expect 'options without an image' 1 \
    'srun: error: berth: --container-image: not given, but other container options are; name an image' \
    srun --container-mounts=/d ./x
expect 'options without an image in the second component' 1 \
    'srun: error: berth: --container-image: not given, but other container options are; name an image' \
    srun --container-image=a ./x : --container-mounts=/d ./y

# A missing image may be on the nodes.
expect 'a missing image is only noted' 0 \
    "srun: berth: image 'T/gone.sif' is not on this host; the job fails if the nodes do not have it either
0 image=T/gone.sif: ./x" \
    srun --container-image=gone.sif ./x
expect 'a missing image is noted by sbatch' 0 \
    "sbatch: berth: image 'T/gone.sif' is not on this host; the job fails if the nodes do not have it either
0 host: job.sh" \
    sbatch --container-image=gone.sif job.sh
expect 'inside a job a missing image is left to the nodes' 0 \
    '0 image=T/gone.sif: ./x' \
    SLURM_JOB_ID=100 srun --container-image=gone.sif ./x

# Components that cannot be told apart.
expect 'a het group that cannot be read, where components differ' 1 \
    "srun: error: berth: the components differ, and the value of --het-group does not tell which one is whose; write it as numbers: --het-group=0,2-3" \
    SLURM_JOB_ID=100 SLURM_HET_SIZE=2 SLURM_JOB_ID_HET_GROUP_0=100 \
    SLURM_JOB_ID_HET_GROUP_1=101 \
    srun --container-image=a --het-group=00000 ./x : --het-group=1 --container-image=b ./y

# An mpirun of its own in one task.
several='--mpi-bind=local: it is for one task, which starts an mpirun, and this component has'
for words in -n4 '-n 4' --ntasks=4 '--ntasks 4' '-n1 -n4'; do
    # shellcheck disable=SC2086 # words of a command line
    expect "--mpi-bind=local with $words" 1 \
        "srun: error: berth: $several 4; use -n1 -c4, or --mpi-bind=local-each for an mpirun in every task" \
        srun --container-image=a --mpi-bind=local $words ./x
done
expect '--mpi-bind=local with one task' 0 \
    '0 image=T/a&mpi-bind=local: ./x -n4' \
    srun --container-image=a --mpi-bind=local -n4 -n1 ./x -n4
expect '--mpi-bind=local-each with several' 0 \
    '0 image=T/a&mpi-bind=local-each: ./x
0 image=T/a&mpi-bind=local-each: ./x' \
    FAKE_TASKS=2 srun --container-image=a --mpi-bind=local-each -n2 ./x
expect '--mpi-bind=local, and another component has several' 0 \
    '0 image=T/a: ./x
1 image=T/a&mpi-bind=local: ./y' \
    srun --container-image=a -n4 ./x : --container-image=a --mpi-bind=local -n1 ./y
expect '--mpi-bind=local, and the node knows of several' 1 \
    "berth: n1: $several 3; use -n1 -c3, or --mpi-bind=local-each for an mpirun in every task" \
    FAKE_TASKS=3 srun --container-image=a --mpi-bind=local ./x
expect '--mpi-bind=local, and the node does not know' 0 \
    '0 image=T/a&mpi-bind=local: ./x
0 image=T/a&mpi-bind=local: ./x' \
    FAKE_TASKS=2 FAKE_FAIL=S_JOB_TOTAL_TASK_COUNT srun --container-image=a --mpi-bind=local ./x
expect 'an mpirun in each task of srun' 1 \
    "berth: n1: --mpi-bind=host: srun starts the ranks, and each of the 3 tasks would start 'mpirun'; leave that out, or take --mpi-bind=local for an mpirun in one task" \
    FAKE_TASKS=3 srun --container-image=a --mpi-bind=host mpirun ./x
for mode in local local-each; do
    expect "--mpi-bind=$mode beside another component's hybrid" 1 \
        "srun: error: berth: --mpi-bind=$mode: the ranks of a component with --mpi-bind=hybrid would wait in MPI_Init for tasks that have an mpirun of their own; give each of the two an srun of its own" \
        srun --container-image=a --mpi-bind=hybrid ./x : --container-image=a --mpi-bind=$mode ./y
    expect "--mpi-bind=$mode before another component's hybrid" 1 \
        "srun: error: berth: --mpi-bind=$mode: the ranks of a component with --mpi-bind=hybrid would wait in MPI_Init for tasks that have an mpirun of their own; give each of the two an srun of its own" \
        srun --container-image=a --mpi-bind=$mode ./x : --container-image=a --mpi-bind=hybrid ./y
done
expect '--mpi-bind=local beside its like, and beside what is not MPI' 0 \
    '0 image=T/a&mpi-bind=local: ./x
1 image=T/b&mpi-bind=local-each: ./y
2 image=T/c&mpi-bind=off: ./z
3 host: ./w' \
    srun --container-image=a --mpi-bind=local ./x : --container-image=b --mpi-bind=local-each ./y : \
    --container-image=c --mpi-bind=off ./z : ./w

# Components of one step, whose MPI would hang.
HANG='srun: error: berth: --mpi=pmi2: components of one step wait for each other in MPI_Init for ever, in every release of Slurm; use --mpi=pmix if your MPI speaks PMIx, or make it a heterogeneous job (#SBATCH hetjob, or srun outside a job)'
two='--container-image=a --mpi-bind=hybrid ./x : --container-image=b --mpi-bind=hybrid ./y'
# shellcheck disable=SC2086 # TWO are words
{
    expect 'a het step with --mpi=pmi2' 1 "$HANG" \
        SLURM_JOB_ID=100 srun --mpi=pmi2 $two
    expect 'a het step with SLURM_MPI_TYPE=pmi2' 1 "$HANG" \
        SLURM_JOB_ID=100 SLURM_MPI_TYPE=pmi2 srun $two
    expect 'a het step where slurm.conf says pmi2' 1 "$HANG" \
        SLURM_JOB_ID=100 FAKE_MPI_DEFAULT=pmi2 srun $two
    expect 'a het step with one component on the host and --mpi=pmi2' 1 "$HANG" \
        SLURM_JOB_ID=100 srun --mpi pmi2 ./x : --container-image=b --mpi-bind=host ./y
    expect 'a het step with --mpi=pmix' 0 '0 image=T/a&mpi-bind=hybrid: ./x
1 image=T/b&mpi-bind=hybrid: ./y' \
        SLURM_JOB_ID=100 FAKE_MPI_DEFAULT=pmi2 srun --mpi=pmix $two
    expect 'a het job with --mpi=pmi2' 0 '0 image=T/a&mpi-bind=hybrid: ./x
1 image=T/b&mpi-bind=hybrid: ./y' \
        srun --mpi=pmi2 $two
    expect 'components in a het job with --mpi=pmi2' 0 '0 image=T/a&mpi-bind=hybrid: ./x
1 image=T/b&mpi-bind=hybrid: ./y' \
        SLURM_JOB_ID=100 SLURM_HET_SIZE=2 SLURM_JOB_ID_HET_GROUP_0=100 \
        SLURM_JOB_ID_HET_GROUP_1=101 srun --mpi=pmi2 --het-group=0 \
        --container-image=a --mpi-bind=hybrid ./x : --het-group=1 \
        --container-image=b --mpi-bind=hybrid ./y
    expect 'a het step without MPI and with --mpi=pmi2' 0 '0 image=T/a: ./x
1 image=T/b: ./y' \
        SLURM_JOB_ID=100 srun --mpi=pmi2 --container-image=a ./x : --container-image=b ./y
}

# What is too long for an environment variable.
long=$(printf '%040000d' 0)
expect 'options longer than what can be sent' 1 \
    'srun: error: berth: the container options take 80031 bytes; at most 65536 can be sent to the nodes' \
    SLURM_JOB_ID=100 srun --container-image=/ "--container-env=A=$long" \
    "--container-env=A=$long" ./x

finish
