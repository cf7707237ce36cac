#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The plugin in slurmstepd: what it makes of a task, and what it refuses.
# shellcheck source=tests/spank/lib.sh
. "${srcdir:-.}/tests/spank/lib.sh"

A=--container-image=T/a
table="1;0:image=$T/a;1:image=$T/b;."

# The exact changes to a task.
if since 23.11; then
    expect 'berth-task is put in front' 0 \
        "0 $A: ./x 1
argv: LIBEXEC/berth-task ./x 1
- table *: $A
$(order "$A")" \
        FAKE_RAW=1 srun --container-image=a ./x 1
else
    expect 'berth-task stands in the place of argv[0]' 0 \
        "0 $A: ./x 1
argv: LIBEXEC/berth-task 1
- table *: $A
$(order "$A")" \
        FAKE_RAW=1 srun --container-image=a ./x 1
fi
argv_x='argv: LIBEXEC/berth-task'
since 23.11 && argv_x="$argv_x ./x"
# The file of -o gets standard error, too, and no notes of berth.
shared="srun: berth: note: standard error goes to 'o', too, so tasks print no notes of berth; give
        another file with -e to have them"
expect 'a file of standard output and error: srun -v prints where the notes are' 0 \
    "$shared
0 $A: ./x
$argv_x
- table *: one-file $A
$(order "$A" ' first one-file')" \
    FAKE_RAW=1 FAKE_VERBOSE=1 srun -o o --container-image=a ./x
expect 'the same without -v' 0 "0 $A: ./x" srun -o o --container-image=a ./x
expect 'the same where notes have the choice of --mpi-bind' 0 \
    "$shared
0 $A --mpi-bind=auto: ./x" \
    srun -o o --container-image=a --mpi-bind ./x
expect 'standard error has a file of its own' 0 "0 $A --mpi-bind=auto: ./x" \
    srun -o o -e e --container-image=a --mpi-bind ./x
expect 'one component of two has one file' 0 \
    "0 $A: ./x
$argv_x
- table 0: one-file $A; 1: $A
$(order "$A" ' several first one-file' | sed 's/nodes=1 tasks=1 several/several nodes=1 tasks=1/')
1 $A: ./y
$(echo "$argv_x" | sed 's,/x$,/y,')
- table 0: one-file $A; 1: $A
$(order "$A" ' several first' |
    sed 's/nodes=1 tasks=1 several/component=1 several nodes=1 tasks=1/; s,argv0=./x,argv0=./y,')" \
    FAKE_RAW=1 srun -o o --container-image=a ./x : --container-image=a ./y
expect 'a program on the host has one file' 0 '0 host: ./x' \
    FAKE_VERBOSE=1 srun -o o ./x

expect 'tasks share what they inherit where Slurm calls the plugin in a child' 0 \
    "0 $A: ./x
0 $A: ./x" \
    FAKE_CONTAIN=1 FAKE_TASKS=2 srun --container-image=a ./x
if since 23.11; then
    expect 'a container of the job: srun says so in a word, and nothing of it is left' 0 \
        "0 $A --container-lifetime=job: ./x
argv: LIBEXEC/berth-task ./x
- SLURM_BERTH_LIFETIME=job
- table 0: $A --container-lifetime=job; 1:
$(order "$A --container-lifetime=job" |
sed 's|step nodes|step several nodes|; s|container-tasks=1|& job=100|')
1 host: ./y
argv: ./y
- SLURM_BERTH_LIFETIME=job
- table 0: $A --container-lifetime=job; 1:" \
        FAKE_RAW=1 SLURM_BERTH_LIFETIME=step \
        srun --container-image=a --container-lifetime=job ./x : ./y
fi
expect 'what the tasks cannot share they go on without' 0 "0 $A: ./x" \
    FAKE_FAIL=memfd_create srun --container-image=a ./x
expect '--mpi-bind needs what the tasks share' 1 \
    "berth: n1: --mpi-bind=auto: a limit of this process is too low for berth (Too many open files);
        raise it: ulimit -n" \
    FAKE_FAIL=memfd_create srun --container-image=a --mpi-bind ./x
expect 'a task without options is as if berth were not there' 0 \
    '0 host: ./x 1
argv: ./x 1' \
    FAKE_RAW=1 srun ./x 1
expect 'a component on the host loses only the table' 0 \
    "0 $A: ./x
1 host: ./y 1" \
    srun --container-image=a ./x : ./y 1
name='an account is asked for: what berth-task cannot see of the step'
if since 23.11; then
    expect "$name" 0 \
        "0 $A --container-explain=text: ./x
argv: LIBEXEC/berth-task ./x
- table *: $A --container-explain=text
$(order "$A --container-explain=text" ' prints-component prints-step')" \
        FAKE_RAW=1 srun --container-image=a --container-explain ./x
fi
expect 'one component that is to be explained makes the whole step explained' 0 \
    "0 $A --container-explain=json: ./x
1 --container-explain=json: ./y" \
    srun --container-image=a --container-explain=json ./x : ./y
# --multi-prog
printf '# programs\n0 ./x 1\n1-3 ./y\n' >conf
expect '--multi-prog: every program gets berth-task' 0 \
    "0 $A: ./x 1" \
    srun --container-image=a --multi-prog conf
name='--multi-prog with --mpi-bind: the programs are told'
if since 23.11; then
    expect "$name" 0 \
        "0 $A --mpi-bind=auto: ./x 1
argv: LIBEXEC/berth-task ./x 1
- table /0,1-3: $A --mpi-bind=auto
$(tasks=4; order "$A --mpi-bind=auto" \
    ' prints-component prints-step ranks=0,1-3 first program=./x program=./y')" \
        FAKE_RAW=1 srun --container-image=a --mpi-bind --multi-prog conf
    printf '0 ./x 1\n1-3 ./x 2\n' >one
    expect '--multi-prog with --mpi-bind: one program is that of the command' 0 \
        "0 $A --mpi-bind=auto: ./x 1
argv: LIBEXEC/berth-task ./x 1
- table /0,1-3: $A --mpi-bind=auto
$(tasks=4; order "$A --mpi-bind=auto" ' prints-component prints-step ranks=0,1-3 first')" \
        FAKE_RAW=1 srun --container-image=a --mpi-bind --multi-prog one
    expect '--multi-prog with --mpi-bind: they are not told' 1 \
        'berth: n1: Slurm does not answer for the --multi-prog configuration; submit again, and tell
            the administrators if it stays so' \
        FAKE_FAIL=S_JOB_ARGV srun --container-image=a --mpi-bind --multi-prog conf
fi
site 'rules: [{force: {no-container-entrypoint: yes}}]'
expect '--multi-prog with --mpi-bind, and a rule against the runscript: the programs are told' 0 \
    "0 $A --no-container-entrypoint --mpi-bind=auto: ./x 1
argv: LIBEXEC/berth-task ./x 1
- table /0,1-3: $A --mpi-bind=auto
$(tasks=4; members=${members#argv0=./x }
    order "$A --no-container-entrypoint --mpi-bind=auto; asked $A --mpi-bind=auto" \
        ' prints-component prints-step ranks=0,1-3 first program=./x program=./y')" \
    FAKE_RAW=1 "FAKE_WORDS=$SITE" srun --container-image=a --mpi-bind --multi-prog conf
expect '--multi-prog without an image' 0 \
    '0 host: ./x 1' \
    srun --multi-prog conf
expect 'a word of the command that looks like --multi-prog' 0 \
    "0 $A: ./x --multi-prog conf" \
    srun --container-image=a ./x --multi-prog conf

# Steps that are not srun's.
for step in 4294967291 4294967292 4294967290 4294967295; do
    expect "step $step is left alone" 0 \
        '0 host: ./x' \
        FAKE_STEP=$step srun --container-image=a ./x
    expect "step $step is left alone, whatever the table" 0 \
        '0 host: ./x' \
        FAKE_STEP=$step FAKE_TABLE=broken srun ./x
done
expect 'the shell of salloc has no variable of a step' 0 \
    '0 host: ./x
argv: ./x
- table *: job=SLURM_JOB_ID=7 --container-image=T/a --mpi-bind=launch' \
    FAKE_RAW=1 FAKE_STEP=4294967290 SLURM_JOB_ID=7 \
    srun --container-image=a --mpi-bind=launch ./x

# Slurm's own containers. A node sees the variable also if srun did not.
bundle="Slurm would run the OCI bundle '/b' instead of it (--container or its variable); leave one
        of the two out"
for words in --container=/b '--container /b'; do
    # shellcheck disable=SC2086 # words
    expect "$words beside --container-image" 1 "srun: error: berth: image 'T/a': $bundle" \
        srun $words --container-image=a ./x
done
expect 'SRUN_CONTAINER beside --container-image' 1 "srun: error: berth: image 'T/a': $bundle" \
    SRUN_CONTAINER=/b srun --container-image=a ./x
expect '--container where the job says the image' 1 "srun: error: berth: image 'T/a': $bundle" \
    FAKE_SCRIPT="srun --container=/b ./x" sbatch --container-image=a script
expect '--container of a component on the host' 0 "0 $A: ./x
1 host: ./y" \
    srun --container-image=a ./x : --container=/b ./y
expect 'SLURM_CONTAINER of an outer step, on the node' 0 "0 $A: ./x" \
    FAKE_TABLE="1;*:image=$T/a;." SLURM_CONTAINER=/b srun ./x

# ... that run images, where oci.conf names berth-oci.
mkdir ociconf
echo 'RunTimeRun="exec /x/berth-oci %e %b %@"' >ociconf/oci.conf
SLURM_CONF=$T/ociconf/slurm.conf
export SLURM_CONF
expect 'an image as --container' 0 "0 $A: ./x" srun --container=a ./x
expect '... with other options' 0 "0 $A --mpi-bind=hybrid: ./x" srun --container a \
    --mpi-bind=hybrid ./x
expect '... by its variable' 0 "0 $A: ./x" SRUN_CONTAINER=a srun ./x
expect '... over which the option wins' 0 "0 --container-image=T/b: ./x" SRUN_CONTAINER=a \
    srun --container-image=b ./x
expect '... of each component its own' 0 "0 $A: ./x
1 --container-image=T/b: ./y" srun --container=a ./x : --container=b ./y
expect '... and none of another' 0 "0 $A: ./x
1 host: ./y" srun --container=a ./x : ./y
expect '... and a second image' 1 \
    "srun: error: berth: --container=a and --container-image=T/b are two images; leave one of the
        two out" \
    srun --container=a --container-image=b ./x
# shellcheck disable=SC2016 # for that shell
expect '... that the site forbids' 1 \
    "srun: error: berth: --container-image: a rule of this site forbids it; leave it out
        (T/berth.yaml:1)" \
    sh -c 'echo "rules: [{forbid: [container-image]}]" >berth.yaml
        FAKE_WORDS="config=$PWD/berth.yaml" exec srun --container=a ./x'
expect '... of a job: its script runs in it' 0 \
    "0 host: LIBEXEC/berth-oci$(since 23.11 && echo ' job.sh')" \
    sbatch --container=a job.sh
expect '... and so do its steps' 0 "0 $A: ./x" \
    FAKE_SCRIPT='srun ./x' sbatch --container=a --no-container-script job.sh
mkdir -p bundle && echo '{}' >bundle/config.json
expect 'a bundle is left to Slurm' 0 '0 host: ./x' srun --container=bundle ./x
expect '... in two components, too' 0 '0 host: ./x
1 host: ./y' srun --container=bundle ./x : --container=bundle ./y
beside="srun: error: berth: --container=bundle is an OCI bundle, and another component of this step
        has an image; start one of the two with an srun of its own"
for words in '--container=bundle ./x : --container=a' '--container=a ./x : --container=bundle' \
    '--container=bundle ./x : --container-image=a'; do
    # shellcheck disable=SC2086 # words
    expect "$words" 1 "$beside" srun $words ./y
done
echo 'RunTimeRun="crun run %b"' >ociconf/oci.conf
expect 'another runtime in oci.conf' 1 \
    "srun: error: berth: --container=a (or its variable) is Slurm's own option, for OCI bundles, and
        does not start an image; write srun --container-image=a" \
    srun --container=a ./x
unset SLURM_CONF

# A table that srun did not write.
advice='; have one release of berth on all hosts, and set no variable of berth by hand'
for damaged in x '1;*:image=/a' 'container-image#1;*:image=a;.'; do
    expect "malformed: ${damaged%#*}" 1 \
        "berth: n1: SLURM_BERTH_STEP: internal data is damaged (${damaged%#*})$advice" \
        "FAKE_TABLE=${damaged#*#}" srun ./x
done
# A node where berth is not fully installed.
expect 'berth-task is missing on the node' 1 \
    "berth: n1: 'LIBEXEC/berth-task': No such file or directory; berth is incomplete on this host,
        tell its administrators" \
    FAKE_FAIL=access srun --container-image=a ./x

# Calls of Slurm that fail.
expect 'no variable can be set' 1 \
    'berth: n1: Slurm does not answer for BERTH_TASK_ORDER; submit again, and tell the
        administrators if it stays so' \
    FAKE_FAIL=spank_setenv srun --container-image=a ./x
if since 23.11; then
    expect 'berth-task cannot be put in front' 1 \
        'berth: n1: Slurm does not answer for LIBEXEC/berth-task; submit again, and tell the
            administrators if it stays so' \
        FAKE_FAIL=spank_prepend_task_argv srun --container-image=a ./x
else
    expect 'the command is not told' 1 \
        'berth: n1: Slurm does not answer for the command; submit again, and tell the administrators
            if it stays so' \
        FAKE_FAIL=S_JOB_ARGV srun --container-image=a ./x
    expect 'the --multi-prog configuration is not told' 1 \
        'srun: error: berth: Slurm does not answer for the --multi-prog configuration; submit again,
            and tell the administrators if it stays so' \
        FAKE_FAIL=S_JOB_ARGV srun --container-image=a --multi-prog conf
fi

# Components that srun did not announce.
expect 'a component that does not know its number' 1 \
    'berth: n1: Slurm does not tell which component this is, and the components differ; give them
        all the same container options, or one srun each' \
    "FAKE_TABLE=$table" srun ./z
expect 'one component fails, the other runs' 1 \
    "0 $A: ./x
berth: n1: internal data is damaged (component 1 of 2)$advice" \
    "FAKE_TABLE=1;0:image=$T/a;2:image=$T/b;." srun ./x : ./y

finish
