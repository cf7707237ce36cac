# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For scripts that speak TAP: cases, and a directory of their own, T, in which they
# go on.

T=$(mktemp -d "${TMPDIR:-/tmp}/berth-test-XXXXXX") || exit 1
trap 'rm -rf "$T"' EXIT
trap 'exit 1' HUP INT TERM
cd "$T" || exit 1
# Who runs this may do so in a job, in a container, or use berth.
ours='BERTH|SLURM|SRUN|SBATCH|SALLOC|APPTAINER|SINGULARITY|PMI|PMIX|OMPI|PALS'
for name in $(env | sed -nE "s/^(($ours)[A-Z0-9_]*)=.*/\\1/p"); do
    unset "$name"
done
unset CDPATH POSIXLY_CORRECT
T=$(pwd -P)
count=0
failures=0
waiting=0

# report STATUS NAME [DETAIL]: 0 is a success; DETAIL is what a failure tells.
report()
{
    count=$((count + 1))
    if [ "$1" = 0 ]; then
        echo "ok $count - $2"
    else
        failures=$((failures + 1))
        echo "not ok $count - $2"
        printf '%s\n' "${3-}" | sed 's/^/# /'
    fi
}

# skip NAME WHY
skip()
{
    count=$((count + 1))
    echo "ok $count - $1 # SKIP $2"
}

# unfold TEXT: sets unfolded, where a line that begins with eight blanks continues the one before,
# as messages are longer than the lines here.
unfold()
{
    unfolded=$1
    case $1 in
        *"
        "*) unfolded=$(printf '%s\n' "$1" | sed -e ':more' -e '$!N' -e 's/\n \{8,\}/ /; t more' \
            -e 'P; D') ;;
    esac
}

# equal NAME WANTED SEEN
equal()
{
    unfold "$2"
    if [ "$unfolded" = "$3" ]; then
        report 0 "$1"
    else
        report 1 "$1" "expected:
$(printf '%s\n' "$unfolded" | sed 's/^/    /')
got:
$(printf '%s\n' "$3" | sed 's/^/    /')"
    fi
}

# The end of a script in the place of the runtime: the variables for the image, and the command.
# shellcheck disable=SC2016,SC2034 # the script's, and that of who writes it
enter='while IFS="= " read -r _ name _; do
    case $name in APPTAINERENV_*) eval "export ${name#*_}=\"\$$name\"" ;; esac
done <<VARIABLES
$(export -p)
VARIABLES
exec "$@"'

# How the command of a case is run, and what of its words is the same in every run
# (profiling: is of --enable-coverage).
run()
{
    "$@"
}
neutral()
{
    sed "s|$T|T|g; /^profiling:/d"
}

# expect NAME STATUS TEXT COMMAND...: it ends with STATUS and says TEXT.
expect()
{
    name=$1
    wanted="status $2
$3"
    shift 3
    got=$(run "$@" 2>&1)
    got="status $?
$got"
    while case $got in *"$T"*) ;; *) false ;; esac; do
        got=${got%%"$T"*}T${got#*"$T"}
    done
    unfold "$wanted"
    [ "$got" = "$unfolded" ] || got=$(printf '%s\n' "$got" | neutral)
    equal "$name" "$wanted" "$got"
}

# meanwhile NAME STATUS TEXT COMMAND...: as expect, for a command that mostly waits: other cases
# run meanwhile, and finish reports it.
meanwhile()
{
    waiting=$((waiting + 1))
    (expect "$@") >"meanwhile.$waiting" &
}

# says NAME STATUS TEXT COMMAND...: it ends with STATUS and says TEXT somewhere.
says()
{
    name=$1
    wanted=$2
    text=$3
    shift 3
    got=$("$@" 2>&1)
    status=$?
    unfold "$text"
    case "$status $got" in
        "$wanted "*"$unfolded"*) report 0 "$name" ;;
        *) report 1 "$name" "status $status: $got" ;;
    esac
}

# The last line of every script.
finish()
{
    for it in $(seq "$waiting"); do
        wait
        count=$((count + 1))
        sed "1s/ok [0-9]*/ok $count/" "meanwhile.$it"
        ! grep -q '^not ok' "meanwhile.$it" || failures=$((failures + 1))
    done
    echo "1..$count"
    [ "$failures" = 0 ]
}
