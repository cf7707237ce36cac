#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Faults end srun, sbatch and salloc before an allocation, with one line and exit status 1,
# whether plugstack.conf says required or optional.
# shellcheck source=tests/spank/lib.sh
. "${srcdir:-.}/tests/spank/lib.sh"

# What a value may be is in the tests of the requests (tests/unit/request.c): here are the
# ways in which any refusal ends a command.
sentence="--container-workdir: expected a directory in the image, from /, got '\\x1b[2Jw\\nx'"
set -- --container-image=a --container-workdir="$(printf '\033[2Jw\nx')" --container-mounts=/a:b
expect 'the first of two errors, by srun' 1 "srun: error: berth: $sentence" \
    SLURM_JOB_ID=100 srun "$@" ./x
expect 'when optional' 1 "srun: error: berth: $sentence" \
    FAKE_OPTIONAL=1 SLURM_JOB_ID=100 srun "$@" ./x
expect 'in the second component' 1 "srun: error: berth: $sentence" \
    SLURM_JOB_ID=100 srun --container-image=a ./x : "$@" ./y
expect 'by sbatch' 1 "sbatch: error: berth: $sentence" \
    FAKE_OPTIONAL=1 sbatch "$@" job.sh

: >"$T/old.sif"
# refuse SENTENCE WORD...
refuse()
{
    sentence=$1
    shift
    expect "refused: $*" 1 "srun: error: berth: $sentence" srun --container-image=a "$@" ./x
}
refuse "--container-image: given twice, 'T/a' and 'none'; expected one value" --container-image=none
refuse "--container-save: 'x.img': an image is a SIF file or a squashfs file; give a name that ends
        in .sif or .sqsh" \
    --container-save=x.img
refuse "--container-save: 'T/old.sif' is there; remove it, or take another name" \
    --container-save=old.sif
root="--container-remap-root: with --mpi=pmix and without munge the image's own MPI ends in MPI_Init
        if it runs as root; add --mpi-bind=host, or leave --container-remap-root out of this step"
refuse "$root" --mpi=pmix --container-remap-root
refuse "$root" --mpi=pmix --container-remap-root --mpi-bind=hybrid
refuse "--container-unshare: unknown namespace 'foo'; expected net, ipc or uts, with commas between
        them" \
    --container-unshare=net,foo
refuse "--container-args: '\"A=b': there is no quoting here, flags are split at blanks; give a
        variable with --container-env, a mount with --container-mounts" \
    --container-args='--env "A=b c"'
for word in --cleanenv -e '--bind /a:/b'; do
    bare=${word#--bind }
    bare=${bare#-}
    bare=${bare#-}
    refuse "--container-args: '$bare' is not a flag; did you mean '$word'?" \
        --container-args="$bare --nv"
done
refuse '--container-args: --pwd has no effect on tasks; use --container-workdir=DIR' \
    --container-args='--pwd /x'
expect 'other options with none' 1 \
    'srun: error: berth: --container-image=none: the other container options mean nothing on the
        host; leave them out' \
    srun --container-image=none --container-writable ./x
expect 'what is not an image, by sbatch' 1 \
    "sbatch: error: berth: image 'T/bad.sif': not an image; expected a SIF file, a squashfs file or
        a sandbox directory, as 'apptainer build NEW.sif FILE' makes them from other formats" \
    sbatch --container-image=bad.sif job.sh

refuse '--container-fabric: it is now --container-libs; write it so' --container-fabric=ucx
expect 'options of pyxis for what berth does anyway' 0 \
    '0 --container-image=T/a --container-readonly --no-container-remap-root
        --no-container-entrypoint: ./x' \
    srun --container-image=a --no-container-remap-root --container-entrypoint-log \
    --no-container-entrypoint --container-readonly ./x
expect 'options of pyxis for what berth does anyway, by sbatch' 0 \
    '0 --container-image=T/a --no-container-remap-root: ./x' \
    "FAKE_SCRIPT=srun ./x" \
    sbatch --container-image=a --no-container-remap-root job.sh
expect 'flags of enroot for what the runtime does anyway' 0 \
    "srun: berth: note: --container-mounts: rprivate, x-create=dir: flags of enroot for what is done
        anyway; leave them out
0 --container-image=T/a --container-mounts=/a:/b:ro: ./x" \
    srun --container-image=a --container-mounts=/a:/b:ro+rprivate+x-create=dir ./x
expect 'a readonly step of a writable job' 0 \
    '0 --container-image=T/a --container-readonly: ./x' \
    "FAKE_SCRIPT=srun --container-readonly ./x" \
    sbatch --container-image=a --container-writable job.sh
expect 'the help has only what berth has' 1 \
    "srun: unrecognized option '--container-fabric=x'" \
    srun --help --container-fabric=x ./x
expect 'with a prefix, the options of pyxis are not taken' 1 \
    "srun: unrecognized option '--b-container-fabric=x'" \
    FAKE_WORDS=option_prefix=b- srun --b-container-image=a --b-container-fabric=x ./x

expect 'options without an image' 1 \
    'srun: error: berth: --container-mounts: it needs an image; add --container-image=IMAGE' \
    srun --container-mounts=/d ./x
expect 'options without an image in the second component' 1 \
    'srun: error: berth: --container-mounts: it needs an image; add --container-image=IMAGE' \
    srun --container-image=a ./x : --container-mounts=/d ./y

# A missing image, which the nodes may have.
gone="image 'T/gone.sif': not found; check the path, and that the nodes see this file system"
expect 'a missing image is only noted' 0 \
    "srun: berth: warning: $gone
0 --container-image=T/gone.sif: ./x" \
    srun --container-image=gone.sif ./x
expect 'a missing image is noted by sbatch -Q' 0 \
    "sbatch: berth: warning: $gone
0 host: job.sh" \
    FAKE_QUIET=1 sbatch --container-image=gone.sif job.sh
expect 'a missing image is noted by sbatch in a job' 0 \
    "sbatch: berth: warning: $gone
0 host: job.sh" \
    SLURM_JOB_ID=100 sbatch --container-image=gone.sif job.sh
site 'images: {missing: refuse}'
for command in srun sbatch; do
    later='; if a job has yet to make it, give the option to srun in the script'
    [ $command = sbatch ] || later=
    expect "a missing image is refused by $command where the site says so" 1 \
        "$command: error: berth: $gone$later" \
        "FAKE_WORDS=$SITE" $command --container-image=gone.sif ./x
done
expect 'one letter too much in the name' 1 \
    "srun: error: berth: image 'T/badd.sif': not found; did you mean 'bad.sif'?" \
    "FAKE_WORDS=$SITE" srun --container-image=badd.sif ./x
expect 'one letter too much in the name, by sbatch' 1 \
    "sbatch: error: berth: image 'T/badd.sif': not found; did you mean 'bad.sif'? if a job has yet
        to make it, give the option to srun in the script" \
    "FAKE_WORDS=$SITE" sbatch --container-image=badd.sif job.sh
site 'images: {missing: refuse}' 'rules: [{partition: gpu, force: {container-image: /b}}]'
expect 'a missing image is only noted where a rule may name another one' 0 \
    "srun: berth: warning: $gone
0 --container-image=T/gone.sif: ./x" \
    "FAKE_WORDS=$SITE" srun --container-image=gone.sif ./x

# A missing image that may be one in a registry, which no node has.
expect 'a word as docker has it' 1 \
    "srun: error: berth: image 'T/ubuntu': not found; check the path, and that the nodes see this
        file system, or write docker://ubuntu for an image of a registry" \
    srun --container-image=ubuntu ./x
expect 'a scheme without its slashes' 1 \
    "srun: error: berth: image 'T/docker:ubuntu': not found; did you mean 'docker://ubuntu'?" \
    srun --container-image=docker:ubuntu ./x
site 'images: {missing: warn}'
expect 'a word as docker has it is only noted where the site says so' 0 \
    "srun: berth: warning: image 'T/docker:ubuntu': not found; did you mean 'docker://ubuntu'?
0 --container-image=T/docker:ubuntu: ./x" \
    "FAKE_WORDS=$SITE" srun --container-image=docker:ubuntu ./x

# Images that a site does not allow, if this host can check that.
site 'images: {roots: [/usr]}'
expect 'an image outside the directories of the site' 1 \
    "srun: error: berth: image 'T/a': this site does not allow it; it allows /usr
        (T/berth.yaml:1)" \
    "FAKE_WORDS=$SITE" srun --container-image=a ./x
expect 'inside a job a missing image is left to the nodes' 0 \
    '0 --container-image=T/gone.sif: ./x' \
    SLURM_JOB_ID=100 srun --container-image=gone.sif ./x

# Components that a node cannot tell apart.
expect 'a het group that cannot be read, where components differ' 1 \
    "srun: error: berth: the components differ, and berth cannot read the value of --het-group;
        write numbers: --het-group=0,2-3" \
    SLURM_JOB_ID=100 SLURM_HET_SIZE=2 SLURM_JOB_ID_HET_GROUP_0=100 \
    SLURM_JOB_ID_HET_GROUP_1=101 \
    srun --container-image=a --het-group=+0 ./x : --het-group=1 --container-image=b ./y

# The image's own mpirun in one task.
several='--mpi-bind=local: only one task may start an mpirun, but'
expect '--mpi-bind=local with several tasks' 1 \
    "srun: error: berth: $several 4 tasks would; use -n1 -c4, or --mpi-bind=local-each for an mpirun
        in every task" \
    srun --container-image=a --mpi-bind=local -n1 --ntasks 4 ./x
launched='--mpi-bind=launch: only one task may start an mpirun on the job'"'"'s nodes, but'
expect '--mpi-bind=launch, and the node knows of several' 1 \
    "berth: n1: $launched 3 tasks would; use -N1 -n1, and tell the mpirun how many ranks to start" \
    SLURM_JOB_ID=7 FAKE_TASKS=3 srun --container-image=a --mpi-bind=launch mpirun ./x
expect '--mpi-bind=launch without a job' 1 \
    "srun: error: berth: --mpi-bind=launch: it needs the nodes of a job, and there is no job yet;
        get one with sbatch or salloc, and give this option to an srun in that job" \
    srun --container-image=a --mpi-bind=launch -n1 mpirun ./x

# MPI_Comm_spawn(): Slurm's pmi2 plugin starts an srun.
expect 'MPI_Comm_spawn in an image' 1 \
    "srun: error: berth: MPI_Comm_spawn: Slurm would start the children on the host, and not in the
        image; have the image's own mpirun start this program, with --mpi-bind=launch" \
    SLURM_PMI2_SPAWNER_JOBID=7.0 'SLURM_BERTH_STEP=1;*:image=/a;.' srun --mpi=pmi2 --ntasks=4 ./x
expect 'MPI_Comm_spawn where the job has an image' 0 '0 --container-image=T/a: ./x' \
    SLURM_PMI2_SPAWNER_JOBID=7.0 'SLURM_BERTH_STEP=1;*:image=/a;.' srun --container-image=a ./x
expect 'MPI_Comm_spawn on the host' 0 '0 host: ./x' SLURM_PMI2_SPAWNER_JOBID=7.0 srun ./x

expect '--mpi-bind=local, and another component has several' 0 \
    '0 --container-image=T/a: ./x
1 --container-image=T/a --mpi-bind=local: ./y' \
    srun --container-image=a -n4 ./x : --container-image=a --mpi-bind=local -n1 ./y
expect '--mpi-bind=local, and the node knows of several' 1 \
    "berth: n1: $several 3 tasks would; use -n1 -c3, or --mpi-bind=local-each for an mpirun in every
        task" \
    FAKE_TASKS=3 srun --container-image=a --mpi-bind=local ./x
expect '--mpi-bind=local, and the node does not know' 0 \
    '0 --container-image=T/a --mpi-bind=local: ./x
0 --container-image=T/a --mpi-bind=local: ./x' \
    FAKE_TASKS=2 FAKE_FAIL=S_JOB_TOTAL_TASK_COUNT srun --container-image=a --mpi-bind=local ./x
expect 'an mpirun in each task of srun' 1 \
    "berth: n1: --mpi-bind=host: srun starts the ranks, and each of the 3 tasks would start
        'mpirun'; leave the mpirun out, or use --mpi-bind=local for an mpirun in one task" \
    FAKE_TASKS=3 srun -n3 --container-image=a --mpi-bind=host mpirun ./x
expect 'the same without --mpi-bind: one line, of the first task' 0 \
    "berth: n1: warning: image 'T/a': each of the 2 tasks starts 'mpirun', and none of these knows
        of the others' ranks; leave it out, as srun starts the ranks, or give
        --site-mpi-bind=local-each if you want each
0 --container-image=T/a: mpirun ./x
0 --container-image=T/a: mpirun ./x" \
    FAKE_WORDS=option_prefix=site- FAKE_TASKS=2 srun -n2 --site-container-image=a mpirun ./x
expect 'one mpirun that fails, without --mpi-bind' 0 \
    "0 --container-image=T/a: mpirun ./x
berth: $(uname -n): note: an mpirun in one task has the slots of that task; give --mpi-bind=local
        for the CPUs of the task on this node, or --mpi-bind=launch for the nodes of the job" \
    FAKE_STATUS=1 srun --container-image=a mpirun ./x
expect 'one mpirun that ends well' 0 '0 --container-image=T/a: mpirun ./x' \
    srun --container-image=a mpirun ./x
expect 'another program that fails' 0 '0 --container-image=T/a: ./x' FAKE_STATUS=1 \
    srun --container-image=a ./x
expect "--mpi-bind=local beside another component's hybrid" 1 \
    "srun: error: berth: --mpi-bind=local: other ranks of this srun have --mpi-bind=hybrid, and
        ranks with two MPI libraries wait in MPI_Init forever; give --mpi-bind=local to all, on both
        sides of ':', or each an srun of its own" \
    srun --container-image=a --mpi-bind=hybrid ./x : --container-image=a --mpi-bind=local ./y

# Components of one step that would hang in MPI_Init.
hang()
{
    echo "srun: error: berth: --mpi=pmi2$1: components of one step wait for each other in MPI_Init
        forever, in every release of Slurm; make it a heterogeneous job (#SBATCH hetjob, or srun
        outside a job), or use --mpi=pmix if your MPI uses PMIx, --mpi=none if you use no MPI"
}
HANG=$(hang '')
two='--container-image=a --mpi-bind=hybrid ./x : --container-image=b --mpi-bind=hybrid ./y'
# shellcheck disable=SC2086 # TWO are words
{
    expect 'a het step with --mpi=pmi2' 1 "$HANG" \
        SLURM_JOB_ID=100 srun --mpi=pmi2 $two
    expect 'a het step with SLURM_MPI_TYPE=pmi2' 1 "$(hang ' (SLURM_MPI_TYPE)')" \
        SLURM_JOB_ID=100 SLURM_MPI_TYPE=pmi2 srun $two
    expect 'a het step where slurm.conf says pmi2' 1 "$(hang ' (MpiDefault in slurm.conf)')" \
        SLURM_JOB_ID=100 FAKE_MPI_DEFAULT=pmi2 srun $two
    expect 'a het step with one component on the host and --mpi=pmi2' 1 "$HANG" \
        SLURM_JOB_ID=100 srun --mpi pmi2 ./x : --container-image=b --mpi-bind=host ./y
    expect 'a het step with --mpi=pmix' 0 '0 --container-image=T/a --mpi-bind=hybrid: ./x
1 --container-image=T/b --mpi-bind=hybrid: ./y' \
        SLURM_JOB_ID=100 FAKE_MPI_DEFAULT=pmi2 srun --mpi=pmix $two
    expect 'a het job with --mpi=pmi2' 0 '0 --container-image=T/a --mpi-bind=hybrid: ./x
1 --container-image=T/b --mpi-bind=hybrid: ./y' \
        srun --mpi=pmi2 $two
    expect 'components in a het job with --mpi=pmi2' 0 '0 --container-image=T/a --mpi-bind=hybrid:
        ./x
1 --container-image=T/b --mpi-bind=hybrid: ./y' \
        SLURM_JOB_ID=100 SLURM_HET_SIZE=2 SLURM_JOB_ID_HET_GROUP_0=100 \
        SLURM_JOB_ID_HET_GROUP_1=101 srun --mpi=pmi2 --het-group=0 \
        --container-image=a --mpi-bind=hybrid ./x : --het-group=1 \
        --container-image=b --mpi-bind=hybrid ./y
    expect 'a het step without --mpi-bind and with --mpi=pmi2' 1 "$HANG" \
        SLURM_JOB_ID=100 srun --mpi=pmi2 --container-image=a ./x : --container-image=b ./y
    expect 'a het step with one image, without --mpi-bind and with --mpi=pmi2' 1 "$HANG" \
        SLURM_JOB_ID=100 srun --mpi=pmi2 ./x : --container-image=b ./y
    expect 'a het step on the host with --mpi=pmi2' 0 '0 host: ./x
1 host: ./y' \
        SLURM_JOB_ID=100 srun --mpi=pmi2 ./x : ./y
    expect 'a het step without MPI' 0 '0 --container-image=T/a: ./x
1 --container-image=T/b: ./y' \
        SLURM_JOB_ID=100 FAKE_MPI_DEFAULT=pmi2 srun --mpi=none --container-image=a ./x : \
        --container-image=b ./y
    expect 'a het step with an mpirun in each component and --mpi=pmi2' 0 '0 --container-image=T/a
        --mpi-bind=local: ./x
1 --container-image=T/b --mpi-bind=local: ./y' \
        SLURM_JOB_ID=100 srun --mpi=pmi2 --container-image=a --mpi-bind=local ./x : \
        --container-image=b --mpi-bind=local ./y
}

# What a job cannot keep for its later steps.
lost='--container-lifetime=job: without PrologFlags=Contain in slurm.conf a container ends with its
        step, and a later step would not find what this one writes; write into a directory of the
        host (--container-mounts)'
expect 'a container of the job that is written to, without an extern step' 1 \
    "srun: error: berth: $lost" \
    srun --container-image=a --container-lifetime=job --container-writable ./x
expect 'the same in sbatch' 1 "sbatch: error: berth: $lost" \
    sbatch --container-image=a --container-lifetime=job --container-writable job
expect 'the same with an extern step' 0 \
    '0 --container-image=T/a --container-writable --container-lifetime=job: ./x' \
    FAKE_CONTAIN=1 srun --container-image=a --container-lifetime=job --container-writable ./x
lost='--container-name=work: without PrologFlags=Contain in slurm.conf a container ends with its
        step, and no later step would find it; leave the name out, or ask the administrators to set
        it'
expect 'a container with a name, without an extern step' 1 "srun: error: berth: $lost" \
    srun --container-image=a --container-name=work ./x
expect 'the same in salloc' 1 "salloc: error: berth: $lost" \
    salloc --container-image=a --container-name=work
expect 'a container with a name, without its image' 0 \
    '0 --container-writable --container-name=work: ./x' \
    FAKE_CONTAIN=1 srun --container-name=work ./x
expect 'a container with a name that ends with the step' 1 \
    'srun: error: berth: --container-lifetime=step: a container with a name lasts as long as its
        job; leave one of these out' \
    FAKE_CONTAIN=1 srun --container-name=work --container-image=a --container-lifetime=step ./x
for words in --container-lifetime=job --container-writable; do
    expect "$words without an extern step" 0 "0 --container-image=T/a $words: ./x" \
        srun --container-image=a "$words" ./x
done

site 'rules: [{forbid: [container-unshare]}]'
expect 'namespaces that a rule of the site forbids' 1 \
    "srun: error: berth: --container-unshare: a rule of this site forbids it; leave it out
        (T/berth.yaml:1)" \
    "FAKE_WORDS=$SITE" srun --container-image=a --container-unshare=net ./x

finish
