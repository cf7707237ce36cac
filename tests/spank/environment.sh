#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# berth restores the variables that --export drops and a task in an image needs, in their
# component, and no others.
# shellcheck source=tests/spank/lib.sh
. "${srcdir:-.}/tests/spank/lib.sh"

for name in $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'); do
    case $name in
        PATH | FAKE_* | ASAN_* | LSAN_* | UBSAN_* | srcdir | TMPDIR) ;;
        *) unset "$name" ;;
    esac
done
unset TMPDIR
HOME=/h USER=u LOGNAME=u SHELL=/s
export HOME USER LOGNAME SHELL

A=--container-image=T/a
identity='+ HOME=/h
+ LOGNAME=u
+ SHELL=/s
+ TMPDIR=/tmp'

# sees CARRIED CHANGES: what a task in image a sees; CHANGES are lines between our own.
sees()
{
    if since 23.11; then
        printf '%s\n' "0 $A: ./x 1
argv: LIBEXEC/berth-task ./x 1"
    else
        printf '%s\n' "0 $A: ./x 1
argv: LIBEXEC/berth-task 1"
    fi
    printf '%s\n' "- table *: ${1:+$1 }$A"
    order "$A"
    [ -z "$2" ] || printf '%s\n' "$2"
}

sent='env=HOME=/h env=LOGNAME=u env=SHELL=/s'
expect '--export=NONE: what MPI needs is there, what it does not is not' 0 \
    "$(sees "$sent env=UCX_TLS=tcp env=USER=u" "$identity
+ UCX_TLS=tcp
+ USER=u")" \
    FAKE_RAW=1 UCX_TLS=tcp EDITOR=vi UCX_TOKEN=x srun --export=NONE --container-image=a ./x 1
expect '--export=ALL: nothing is sent' 0 "$(sees '' '')" \
    FAKE_RAW=1 UCX_TLS=tcp EDITOR=vi srun --export=EDITOR=vi,ALL --container-image=a ./x 1
expect 'without --export nothing is sent' 0 "$(sees '' '')" \
    FAKE_RAW=1 UCX_TLS=tcp srun --container-image=a ./x 1
expect 'without an image nothing is sent' 0 '0 host: ./x 1
argv: ./x 1' \
    FAKE_RAW=1 UCX_TLS=tcp srun --export=NONE ./x 1

# short EXPORT...: the variables of the test as a task sees them.
short()
{
    name=$1
    wanted=$2
    shift 2
    equal "$name" "$wanted" "$(FAKE_RAW=1 env "$@" 2>&1 |
        grep -E '^(\+ (A_B|B|UCX_A|LANG|TERM|USER|TMPDIR|LD_PRELOAD)=|berth|srun)|FAULT' |
        sed 's/^+ //' | paste -sd' ' -)"
}
I='TMPDIR=/tmp'
short 'SRUN_EXPORT_ENV=NONE is like the option' "$I UCX_A=1 USER=u" \
    UCX_A=1 SRUN_EXPORT_ENV=NONE srun --container-image=a ./x
short 'SLURM_EXPORT_ENV=NONE too' "$I UCX_A=1 USER=u" \
    UCX_A=1 SLURM_EXPORT_ENV=NONE srun --container-image=a ./x
short 'SRUN_EXPORT_ENV goes over SLURM_EXPORT_ENV' '' \
    UCX_A=1 SRUN_EXPORT_ENV=ALL SLURM_EXPORT_ENV=NONE srun --container-image=a ./x
short 'the option goes over both' "$I UCX_A=1 USER=u" \
    UCX_A=1 SRUN_EXPORT_ENV=ALL SLURM_EXPORT_ENV=ALL srun --exp NONE \
    --container-image=a ./x
short 'the last of several options counts' '' \
    UCX_A=1 srun --export=NONE --export ALL --container-image=a ./x
short 'an --export of the program is its own' '' \
    UCX_A=1 srun --container-image=a ./x --export=NONE
short 'a value behind NONE wins' "$I UCX_A=2 USER=u" \
    UCX_A=1 srun --export=NONE,UCX_A=2 --container-image=a ./x
short 'a value that Slurm passes wins' "$I USER=u" \
    UCX_A=1 srun --export=UCX_A=2 --container-image=a ./x
short 'a value behind NONE that is on no list stays dropped' "$I USER=u" \
    srun --export=NONE,B=2,LD_PRELOAD=/x --container-image=a ./x
short 'a script under --export=NONE' "$I UCX_A=2 USER=u" \
    "FAKE_SCRIPT=USER=u UCX_A=2 srun --container-image=a ./x" UCX_A=1 \
    sbatch --export=NONE job.sh
short 'TERM goes with --pty' "LANG=C TERM=xterm $I USER=u" \
    LANG=C TERM=xterm SLURM_PTY_PORT=1 srun --export=NONE --container-image=a ./x
short 'who the user is comes from the system if need be' "$I USER=$(id -un)" \
    -u HOME -u USER srun --export=NONE --container-image=a ./x

short 'else from Slurm' "$I UCX_A=1 USER=slurms" \
    SLURM_JOB_USER=slurms 'FAKE_TABLE=1;=:env=UCX_A%3D1;*:image=/a;.' srun \
    --export=NONE --container-image=a ./x

# Components
two()
{
    name=$1
    wanted=$2
    shift 2
    equal "$name" "$wanted" "$(env "$@" 2>&1 |
        grep -E '^([0-9] |\+ (UCX|USER))|FAULT' | paste -sd' ' - | neutral)"
}
two 'the same image, other values' \
    "0 --container-image=T/a: ./x + UCX_A=2 + USER=u 1 --container-image=T/a: ./y + UCX_A=1 +
        USER=u" \
    FAKE_RAW=1 UCX_A=1 srun --export=NONE,UCX_A=2 --container-image=a ./x : \
    --export=NONE --container-image=a ./y
two 'one component drops, the other does not' \
    "0 --container-image=T/a: ./x + UCX_A=1 + USER=u 1 --container-image=T/b: ./y" \
    FAKE_RAW=1 UCX_A=1 srun --export=NONE --container-image=a ./x : \
    --export=ALL --container-image=b ./y
two 'the component on the host gets nothing' \
    "0 --container-image=T/a: ./x + UCX_A=1 + USER=u 1 host: ./y" \
    FAKE_RAW=1 UCX_A=1 srun --export=NONE --container-image=a ./x : \
    --export=NONE ./y
two 'in a het job, out of order' \
    "0 --container-image=T/b: ./y + UCX_A=3 + USER=u 1 --container-image=T/a: ./x + UCX_A=2 +
        USER=u" \
    FAKE_RAW=1 UCX_A=1 SLURM_HET_SIZE=2 SLURM_JOB_ID=100 SLURM_JOB_ID_HET_GROUP_0=100 \
    SLURM_JOB_ID_HET_GROUP_1=101 srun --het-group=1 --export=NONE,UCX_A=2 \
    --container-image=a ./x : --het-group=0 --export=NONE,UCX_A=3 --container-image=b ./y

# The site
site 'environment: {capture: [A_*]}'
short 'environment.capture adds' "A_B=1 $I UCX_A=1 USER=u" \
    "FAKE_WORDS=$SITE" A_B=1 UCX_A=1 srun --export=NONE \
    --container-image=a ./x
site 'environment: {deny: [UCX_*]}'
short 'environment.deny takes away' "$I USER=u" \
    "FAKE_WORDS=$SITE" UCX_A=1 srun --export=NONE --container-image=a ./x
site 'environment: {capture: [LD_PRELOAD]}'
short 'environment.capture: LD_PRELOAD goes over the built-in denial' "LD_PRELOAD= $I USER=u" \
    "FAKE_WORDS=$SITE" LD_PRELOAD= srun --export=NONE \
    --container-image=a ./x

# Slurm's variables about the job, for an mpirun on its nodes.
expect '--mpi-bind=launch: what srun knows of the job comes along' 0 \
    "$(sees 'job=SLURM_JOB_ID=7 job=SLURM_NTASKS=8' '' |
        sed 's|image=T/a|& --mpi-bind=launch|
            s|first;|first allocation=SLURM_JOB_ID=7 allocation=SLURM_NTASKS=8;|')" \
    FAKE_RAW=1 SLURM_JOB_ID=7 SLURM_NTASKS=8 SLURM_BERTH_X=1 EDITOR=vi \
    srun --container-image=a --mpi-bind=launch ./x 1

# Limits
expect 'an environment over the limit, without an image, or with all of it' 0 '0 host: ./x
0 --container-image=T/a: ./y' \
    "UCX_BIG=$(printf '%070000d' 0)" FAKE_SCRIPT="srun --export=NONE ./x
srun --export=ALL --container-image=a ./y" sbatch job.sh

# Variables that srun did not write
advice='; have one release of berth on all hosts, and set no variable of berth by hand'
forged()
{
    expect "forged: $1" 1 "berth: n1: SLURM_BERTH_STEP: $1" "FAKE_TABLE=$2" srun ./x
}
forged "internal data is damaged (image)$advice" '1;=:image=/x;*:image=/a;.'
forged "'LD_PRELOAD' is not a variable that this node restores; have the same berth.yaml on all
        hosts" \
    '1;=:env=LD_PRELOAD%3D/x;*:image=/a;.'
forged "'PATH' is not a variable that this node restores; have the same berth.yaml on all hosts" \
    '1;=:env=UCX_A%3D1&env=PATH%3D/x;*:image=/a;.'
expect 'forged: a component on the host does not care' 0 '0 host: ./x' \
    'FAKE_TABLE=1;=:env=LD_PRELOAD%3D/x;*:;.' srun ./x
expect 'what an outer step has left is forgotten' 0 "0 $A: ./x" \
    'SLURM_BERTH_STEP=x' srun --container-image=a ./x
expect 'a task that takes no variable' 1 \
    'berth: n1: Slurm does not answer for UCX_A; submit again, and tell the administrators if it
        stays so' \
    FAKE_FAIL=spank_setenv 'FAKE_TABLE=1;=:env=UCX_A%3D1;*:image=/a;.' srun ./x

# srun in a container
expect 'srun in a container says so, and hands on nothing of the runtime' 0 \
    "srun: berth: note: this srun runs in '/outer.sif'; its tasks get their own image, and none of
        that image's mounts
$(sees '' '' | sed '/^- table/i\
- APPTAINER_CONTAINER=/outer.sif\
- APPTAINER_BIND=/opt\
- APPTAINER_NAME=outer.sif\
- SINGULARITY_BIND=/opt')" \
    FAKE_RAW=1 APPTAINER_CONTAINER=/outer.sif APPTAINER_BIND=/opt APPTAINER_NAME=outer.sif \
    SINGULARITY_BIND=/opt APPTAINER_NOHTTPS=1 srun --container-image=a ./x 1
expect 'the same with singularity' 0 \
    "srun: berth: note: this srun runs in '/outer.sif'; its tasks get their own image, and none of
        that image's mounts
0 $A: ./x" \
    SINGULARITY_CONTAINER=/outer.sif srun --container-image=a ./x
expect 'a step on the host is left alone there' 0 '0 host: ./x 1
argv: ./x 1' \
    FAKE_RAW=1 APPTAINER_CONTAINER=/outer.sif APPTAINER_BIND=/opt srun ./x 1
expect 'outside of a container APPTAINER_BIND is the wish of the user' 0 "$(sees '' '')" \
    FAKE_RAW=1 APPTAINER_BIND=/opt srun --container-image=a ./x 1

# srun -v
site 'environment: {capture: [MODEL_A]}'
expect 'srun -v tells what is restored, and by whose list' 0 \
    "srun: berth: component 0: HOME is restored (identity; POSIX, environ(7))
srun: berth: component 0: LOGNAME is restored (identity; POSIX, environ(7))
srun: berth: component 0: MODEL_A is restored (environment.capture; berth.yaml)
srun: berth: component 0: SHELL is restored (identity; POSIX, environ(7))
srun: berth: component 0: UCX_A is restored (UCX; ucx_info -f)
srun: berth: component 0: USER is restored (identity; POSIX, environ(7))
0 $A: ./x" \
    FAKE_VERBOSE=1 "FAKE_WORDS=$SITE" MODEL_A=1 UCX_A=1 srun --export=NONE \
    --container-image=a ./x

finish
