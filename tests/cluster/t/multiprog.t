#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# srun --multi-prog: each line of its file has its own image and options, and each image is
# started once on a node. The programs of a step run on one MPI, whichever task comes first.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b mpibookworm mpitrixie mpich
t=/opt/t
LIMIT=60

# run MODE LINE...: what a step says whose tasks run these commands, and its status; with
# VERBOSE=v more of that.
run() {
    local i=0 word
    for word in "${@:2}"; do echo "$((i++)) $word"; done | on login alice sh -c 'cat >programs'
    alice srun -"${VERBOSE:-Q}" -w n1 -n $(($# - 1)) --mpi=pmi2 --container-image=/images/mpibookworm.sif \
        --mpi-bind="$1" --multi-prog programs 2>&1
    echo "status $?"
}

# on_host TITLE SEEN: both ranks run on the host's MPI: the file is not the image's.
on_host() {
    equal "$1" "2 status 0" "$(grep -ac '^rank [01] of 2 .*!\]' <<<"$2") $(tail -n 1 <<<"$2")"
}

on_host "two programs run on the host's MPI" "$(run host $t/mpich/who $t/mpich/rpath)"
on_host "and the other way round" "$(run host $t/mpich/rpath $t/mpich/who)"
on_host "a shell beside them does not matter" "$(run host $t/mpich/who "sh -c $t/mpich/who")"
on_host "auto" "$(run auto $t/mpich/who $t/mpich/rpath)"

matches "the ranks of both are witnessed" "2 of 2 ranks loaded the host's MPICH" "$(VERBOSE=v run host $t/mpich/who $t/mpich/rpath)"

# refused TITLE WORDS MODE A B: that is refused in either order.
refused() {
    local seen
    for seen in "$(run "$3" "$4" "$5")" "$(run "$3" "$5" "$4")"; do
        matches "$1: refused with the same words in either order" "^berth: n1: [^$nl]*--mpi-bind=$3: $2.*status [1-9]" "$seen"
        equal "$1: nothing has run" 0 "$(grep -ac '^rank ' <<<"$seen")"
    done
}
refused "a static program" "'$t/mpich/static' is linked statically" host $t/mpich/static $t/mpich/who
for mode in auto host hybrid; do
    refused "two MPIs, $mode" "'$t/mpich/who' wants MPICH and '$t/openmpi/who' wants Open MPI" \
        $mode $t/mpich/who $t/openmpi/who
done

seen=$(run auto $t/mpich/who $t/mpich/static)
matches "auto: with a static program all run on the image's own" \
    "note: the image's own MPI runs \(hybrid\): '$t/mpich/static' is linked statically" "$seen"
equal "auto: and none on the host's" 0 "$(grep -ac '^rank .*!\]' <<<"$seen")"

script_tell
A=--container-image=/images/a.sif
B=--container-image=/images/b.sif
W="/bin/sh /home/alice/tell"

# lines LINE...: the file.
lines() {
    printf '%s\n' "$@" | on login alice sh -c 'cat >lines'
}

# tell TITLE EXPECTED OPTIONS LINE...: what four tasks on two nodes say, sorted, and errors.
tell() {
    local title=$1 expected=$2 options=$3
    lines "${@:4}"
    # shellcheck disable=SC2086 # words
    equal "$title" "$expected" \
        "$(alice srun -w n1,n2 -N2 -n4 $options --multi-prog lines 2>&1 </dev/null |
            grep -vE "$waited" | sort | paste -sd' ')"
}

tell "an image for each line" "A=a A=a B=b H=host" "" "0-1 $A $W A" "2 $B $W B" "3 $W H"
tell "the command line has the default, none cancels it" "A=a B=b D=a N=host" "$A" \
    "0 $W A" "1 $B $W B" "2 --container-image=none $W N" "* $W D"
tell "options on lines" "A=a,/mnt,ma A=a,/mnt,ma B=b,/tmp D=a" "$A" \
    "0,2 --container-mounts=/home/alice/ma:/mnt --container-workdir=/mnt $W A" \
    "1 $B --container-workdir=/tmp $W B" "3 $W D"
tell "an argument of its own for each rank" "r0-0=a r1-0=a r2-1=a r3-0=b" "" \
    "0 $A $W r%t-%o" "1-2 $A $W r%t-%o" "3 $B $W r%t-%o"
tell "quotes, comments and lines that go on" "A=a,it 's B=b,a b D=a D=a" "$A" \
    '# 0-3 nobody' "0 --container-env=LINE='it '\\'s $W A" '' \
    "1 --container-env='LINE=a b' \\" "  $B $W B" "* $W D"
tell "a value behind a blank" "A=a A=a B=b B=b" "" \
    "0-1 --container-image /images/a.sif $W A" "2-3 --container-image /images/b.sif $W B"

# Each image once on each node, though three lines have the first.
alice sh -c 'rm -f fifo; mkfifo fifo'
lines "0-1 $A cat fifo" "2 $A --container-env=LINE=1 cat fifo" "3-5 $B cat fifo" "6 $A cat fifo" "7 cat fifo"
alice srun -w n1 -n8 -O --multi-prog lines >started.log 2>&1 </dev/null &
wait_for 30 has_processes n1 cat 8
equal "each image is started once on a node" "8 2" \
    "$(on n1 root pgrep -u alice -x -c cat) $(on n1 root pgrep -u alice -c -f -- 'runtime parent|--hold [0-9]' |
        awk '{ print $1 / 2 }')"
alice sh -c ': >fifo'
wait
equal "... without a word" "" "$(without_waiting "$(cat started.log)")"
rm -f started.log
alice rm -f fifo

# wrong TITLE PATTERN OPTIONS LINE...: a step of two tasks is refused with that, and no task runs.
wrong() {
    local seen
    lines "${@:4}"
    # shellcheck disable=SC2086 # words
    seen=$(alice srun -w n1 -n2 $3 --multi-prog lines 2>&1 </dev/null; echo "status $?")
    matches "$1" "$2.*status [1-9]" "$seen"
    equal "$1: nothing runs" 0 "$(grep -c '^[A-Z]=' <<<"$seen")"
}
# (tests/spank/lines.sh has all that can be wrong with a line.)
line="^srun: error: berth: --multi-prog: 'lines': line"
wrong "an option that is none" "$line 2: '--container-imag' is not an option; did you mean '--container-image'\?" \
    "" "0 $A $W A" "1 --container-imag=/images/b.sif $W B"
wrong "an image that is not there" "berth: n1: image '/images/nope.sif': .*" "" \
    "0 --container-image=/images/nope.sif $W A" "1 --container-image=/images/nope.sif $W B"
wrong "an mpirun in each task of a line" "berth: n1: --mpi-bind=host: srun starts the ranks, and each of the 2 tasks would start 'mpirun'" \
    "" "0-1 --container-image=/images/mpich.sif --mpi-bind=host mpirun mpiring"
wrong "too few tasks on the lines" "srun: error: .*" "-n3" "0 $A $W A" "1 $B $W B"

site <<'YAML'
mounts:
  forbidden: [/etc/slurm]
YAML
wrong "what the site forbids on one line" "line 2: .*this site forbids '/etc/slurm'" "" \
    "0 $A $W A" "1 $B --container-mounts=/etc/slurm:/s $W B"
site </dev/null

# A command that is not there: of an image, and of the host.
missing() {
    lines "${@:3}"
    try "$1" "~$2.*status 127$" -- srun -w n1 -n2 --kill-on-bad-exit=0 --multi-prog lines
}
missing "a command that an image has not" "berth: n1: image '/images/a.sif': command 'nope' is not on the image's PATH " "0 $A nope" "1 $B $W B"
missing "a command that the host has not" "berth: n1: .*command 'nope': No such file or directory; check the name, or give its path" \
    "0 $A $W A" "1 nope"

# What is wrong with each line is said, and others do not wait for one that cannot start.
lines "0 $A nope" "1 $B no" "2 neither"
seen=$(alice srun -w n1 -n3 --kill-on-bad-exit=0 --multi-prog lines 2>&1 </dev/null | grep -o "command '[a-z]*'" | sort)
equal "each line has its fault" "command 'neither' command 'no' command 'nope'" "$(paste -sd' ' <<<"$seen")"
lines "0 $A nope" "1 $B sleep 50"
matches "one that cannot start ends the others" "Terminating StepId" "$(alice srun -w n1 -n2 --multi-prog lines 2>&1 </dev/null)"

# Programs of one image in two directories: each is judged where it is.
alice srun -w n1 --container-image=/images/mpitrixie.sif \
    sh -c "mkdir -p m1 m3 && cp $t/mpich/who m1/one && cp $t/openmpi/who m3/three"
lines "0 --container-workdir=/home/alice/m1 ./one" "1 --container-workdir=/home/alice/m3 ./three"
try "a program in a directory of its own" "~berth: n1: [^$nl]*--mpi-bind=host: [^$nl]*Open MPI.*status" -- \
    srun -w n1 -n2 --mpi=pmi2 --mpi-bind=host --container-image=/images/mpitrixie.sif --multi-prog lines

# The account of each line, by its first rank.
lines "0-1 $A $W A" "2 $B $W B" "3 $W H"
seen=$(alice srun -w n1,n2 -N2 -n4 --container-explain --multi-prog lines 2>&1 </dev/null; echo "status $?")
equal "each line has an account" \
    "0: ranks 0-1: 2 tasks run $W A in /images/a.sif|2: rank 2: 1 task runs $W B in /images/b.sif|3: rank 3: 1 task runs $W H without a container|status 0" \
    "$(grep -E 'ranks? [0-9]|^status|^[A-Z]=' <<<"$seen" | sort | paste -sd'|')"
equal "and nothing of another task" 0 "$(grep -c '    SLURM_PROCID=' <<<"$seen")"
equal "as JSON" "0-1 /images/a.sif" \
    "$(alice srun -w n1,n2 -N2 -n4 --container-explain=json --multi-prog lines 2>/dev/null </dev/null | sed -n 's/^0: //p' |
        python3 -c 'import json, sys; it = json.load(sys.stdin); print(it["ranks"], it["image"]["path"])')"

# Two images are one MPI_COMM_WORLD, and each has a witness.
lines "0-1 --container-image=/images/mpibookworm.sif $t/mpich/who" "2 --container-image=/images/mpitrixie.sif $t/mpich/who" \
    "3 --container-image=/images/mpibookworm.sif $t/mpich/who"
seen=$(alice srun -v -w n1 -n4 --mpi=pmi2 --mpi-bind=host --multi-prog lines 2>&1 </dev/null; echo "status $?")
equal "MPICH in two images: the ranks of each are witnessed" \
    "mpibookworm: 3 of 3 mpitrixie: 1 of 1 status 0" \
    "$(sed -nE "s|^berth: n1: note: image '/images/(.*).sif': --mpi-bind=host: ([0-9] of [0-9]) ranks loaded.*|\1: \2|p; s/^(status .*)/\1/p" <<<"$seen" | sort | paste -sd' ')"
equal "... in one world" 4 "$(grep -acE '^rank [0-3] of 4 ' <<<"$seen")"
lines "0-1 --container-image=/images/mpich.sif sleep 2" "2-3 --container-image=/images/mpibookworm.sif sh -c '$t/openmpi/who; sleep 1'"
seen=$(alice srun -Q -w n1 -n4 --mpi=pmi2 --multi-prog lines 2>&1 </dev/null)
matches "an MPI that finds no other rank: the image that has it is named" \
    "berth: n1: warning: image '/images/mpibookworm.sif': if the program uses MPI: the image's Open MPI" "$seen"
equal "... and no other" 1 "$(grep -c '^berth: ' <<<"$seen")"
if has_pmix; then
    lines "0-1 --container-image=/images/mpitrixie.sif $t/openmpi/who" "2-3 --container-image=/images/mpibookworm.sif $t/openmpi/who"
    seen=$(alice srun -Q -w n1 -n4 --mpi=pmix --mpi-bind=host --multi-prog lines 2>&1 </dev/null; echo "status $?")
    equal "Open MPI in two images is one world" "4 status 0" \
        "$(grep -acE '^rank [0-3] of 4 ' <<<"$seen") $(tail -n 1 <<<"$seen")"
else
    result skip "Open MPI in two images is one world" "this Slurm has no PMIx"
fi
finish
