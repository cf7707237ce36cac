# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For the scripts beside it: a case is a name, an exit status, what is to be printed
# (standard output and error together), and a command line of srun, sbatch or salloc.
# Speaks TAP.

fake=${FAKE_SPANK:-./tests/spank/fake-spank}
FAKE_PLUGIN=${FAKE_PLUGIN:-$PWD/.libs/berth.so}
export FAKE_PLUGIN
case $fake in
    /*) ;;
    *) fake=$PWD/$fake ;;
esac
for name in $(env | sed -n 's/^\(SLURM[A-Z0-9_]*\)=.*/\1/p'); do
    unset "$name"
done
release=$("$fake" --release)
libexec=$("$fake" --libexec)

# Suppressed leaks need not be listed.
LSAN_OPTIONS=print_suppressions=0
export LSAN_OPTIONS

T=$(mktemp -d "${TMPDIR:-/tmp}/berth-spank-XXXXXX") || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 1' HUP INT TERM
cd "$T" || exit 1
mkdir -p a/bin b/bin c/bin
echo 'not an image' >bad.sif
count=0
failures=0

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
        s|^\\(+ BERTH_TASK_TERMS=.*\\)profiles:[^ ]*\$|\\1|; /^+ BERTH_TASK_TERMS=\$/d"
}

# report ok|'not ok' NAME
report()
{
    count=$((count + 1))
    echo "$1 $count - $2"
    [ "$1" = ok ] || failures=$((failures + 1))
}

# skip NAME WHY
skip()
{
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

# expect NAME STATUS TEXT [VARIABLE=VALUE ...] srun|sbatch|salloc WORD...
expect()
{
    name=$1
    status=$2
    text=$3
    shift 3
    words=
    while :; do
        case $1 in
            *=*) ;;
            *) break ;;
        esac
        words="$words $(quote "$1")"
        shift
    done
    got=$(eval "exec env $words \"\$fake\" \"\$@\"" 2>&1)
    got_status=$?
    got=$(printf '%s\n' "$got" | neutral)
    if [ "$got" = "$text" ] && [ "$got_status" = "$status" ]; then
        report ok "$name"
        return
    fi
    report 'not ok' "$name"
    {
        echo "expected, with status $status:"
        printf '%s\n' "$text" | sed 's/^/    /'
        echo "got, with status $got_status:"
        printf '%s\n' "$got" | sed 's/^/    /'
    } | sed 's/^/# /'
}

# TEXT as one word of a shell.
quote()
{
    printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"
}

# The last line of every script.
finish()
{
    echo "1..$count"
    [ "$failures" = 0 ]
}
