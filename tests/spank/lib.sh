# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For the scripts beside it: a case is a name, an exit status, what is to be printed
# (standard output and error together), and a command line of srun, sbatch or salloc.
# Speaks TAP.

fake=${FAKE_SPANK:-./tests/spank/fake-spank}
FAKE_PLUGIN=${FAKE_PLUGIN:-$PWD/berth.so}
export FAKE_PLUGIN
case $fake in
    /*) ;;
    *) fake=$PWD/$fake ;;
esac
release=$("$fake" --release)
libexec=$("$fake" --libexec)

# Suppressed leaks need not be listed.
LSAN_OPTIONS=print_suppressions=0
export LSAN_OPTIONS

# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
mkdir -p a/bin b/bin c/bin
echo 'not an image' >bad.sif

# What the site says in berth.yaml: lines of it, for FAKE_WORDS=$SITE.
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

# Paths of this run have the same name in every run; where profiles are is told always.
neutral()
{
    sed "s|$T|T|g; s|$libexec|LIBEXEC|g
        s|^\\(+ BERTH_TASK_ORDER=.*[:&]\\)profiles=[^&;]*|\\1|; s|&;|;|; s|;terms:;|;|"
}

# order REQUEST [STEP [TASK [PARTS]]]: the variable of berth-task as FAKE_RAW=1 shows it, in
# a step of one task on one node; STEP and TASK are fields of these parts besides the usual,
# PARTS are between the request and them.
fds='container-tasks=1&report-fd=N&memory-fd=N&tasks-fd=N&ended-fd=N'
since 23.11 || fds="argv0=./x&$fds"
order()
{
    echo "+ BERTH_TASK_ORDER=1;request:$1;${4:+$4;}step:nodes=1&tasks=${tasks:-1}$2;task:$3$fds;."
}

# The command of a case: [VARIABLE=VALUE ...] srun|sbatch|salloc WORD...
run()
{
    words=
    while :; do
        case $1 in
            *=*) ;;
            *) break ;;
        esac
        words="$words $(quote "$1")"
        shift
    done
    eval "exec ${words:+env} $words \"\$fake\" \"\$@\""
}

# TEXT as one word of a shell.
quote()
{
    case $1 in
        *\'*) printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
        *) printf "'%s'" "$1" ;;
    esac
}
