# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For the scripts in this directory: a case is a name, an exit status, the expected output
# (standard output and error together), and a command line of srun, sbatch or salloc.
# Prints TAP.

fake=${FAKE_SPANK:-./tests/spank/fake-spank}
FAKE_PLUGIN=${FAKE_PLUGIN:-$PWD/berth.so}
export FAKE_PLUGIN
case $fake in
    /*) ;;
    *) fake=$PWD/$fake ;;
esac
release=$("$fake" --release)
libexec=$("$fake" --libexec)

# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
mkdir -p a/bin b/bin c/bin slurm
for name in srun sbatch salloc; do
    ln -s "$fake" slurm/$name
done
PATH=$T/slurm:$PATH
: >x
: >y
: >z
echo 'not an image' >bad.sif

# site LINE...: write berth.yaml, for FAKE_WORDS=$SITE.
# shellcheck disable=SC2034 # the scripts use it
SITE=config=$T/berth.yaml
site()
{
    printf '%s\n' "$@" >"$T/berth.yaml"
}

# Is the plugin built for this release of Slurm or a later one?
since()
{
    [ "$(printf '%s\n%s\n' "$1" "$release" | sort -V | head -n 1)" = "$1" ]
}

# Replace the paths of this run by fixed names; remove the note at the end of most batch
# scripts here, which start nothing in their image.
unfold "berth: $(uname -n): note: the batch script ran on the host, and nothing of the job in its
        image; write srun before programs, or give sbatch --container-script to run the script in
        the image"
missed=$unfolded
neutral()
{
    sed "/^$missed\$/d; /^- SLURM_BERTH_SITE=/d; s|$T|T|g; s|$libexec|LIBEXEC|g"
}

# order REQUEST [STEP [TASK [PARTS]]]: the order as FAKE_RAW=1 shows it (decode.h), for a
# step of one task on one node. STEP and TASK are further members of these parts; PARTS are
# the parts between the request and the step.
members='container-tasks=1 report=fd memory=fd tasks=fd ended=fd'
since 23.11 || members="argv0=./x $members"
order()
{
    case $2 in
        *first*) step=$2 ;;
        *) step=$(echo "$2" | sed -E 's/^(( prints-[a-z]+)*)/\1 first/') ;;
    esac
    step="nodes=1 tasks=${tasks:-1}$step"
    echo "+ order ${1:+request $1; }${4:+$4; }step $step; task $3${3:+ }$members"
}

# The command of a case: [VARIABLE=VALUE ...] srun|sbatch|salloc WORD...
run()
{
    case $1 in *=*) exec env "$@" ;; esac
    exec "$@"
}
