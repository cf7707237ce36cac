#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# srun --multi-prog: each line of its file has its own image and options, and each image is
# started once on a node. The programs of a step run on one MPI, whichever task comes first.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b mpibookworm mpitrixie mpich
t=/opt/t
LIMIT=60

# What the programs are linked with is the same with every Slurm.
if thorough; then
    step=(srun -Q -w n1 -n2 --mpi=pmi2 --container-image=/images/mpibookworm.sif --multi-prog)

    # Both ranks run on the host's MPI: the file is not the image's.
    for it in "two programs run on the host's MPI|host|$t/mpich/who|$t/mpich/rpath" \
        "and the other way round|host|$t/mpich/rpath|$t/mpich/who" \
        "a shell beside them does not matter|host|$t/mpich/who|sh -c $t/mpich/who" \
        "auto|auto|$t/mpich/who|$t/mpich/rpath"; do
        IFS='|' read -r title mode one two <<<"$it"
        lines "0 $one" "1 $two"
        try "$title" $'on it\non it' "sed -nE 's/^rank [01] of 2 .*!\].*/on it/p; /^status/p'" \
            -- "${step[@]}" --mpi-bind="$mode" lines
    done
    try "the ranks of both are witnessed" "~2 of 2 ranks loaded the host's MPICH" \
        -- "${step[@]/-Q/-v}" --mpi-bind=host lines

    # Either order is refused.
    for it in "a static program|host|$t/mpich/static|$t/mpich/who|'$t/mpich/static' is linked statically" \
        "two MPIs, "{auto,host,hybrid}"|"; do
        IFS='|' read -r title mode one two words <<<"$it"
        [[ $mode ]] || mode=${title#*, } one=$t/mpich/who two=$t/openmpi/who \
            words="'$t/mpich/who' wants MPICH and '$t/openmpi/who' wants Open MPI"
        for order in "$one $two" "$two $one"; do
            lines "0 ${order% *}" "1 ${order#* }"
            try "$title: refused with the same words in either order" \
                "~^berth: n1: [^$nl]*--mpi-bind=$mode: $words.*status" \
                -- "${step[@]}" --mpi-bind="$mode" lines
            equal "$title: nothing has run" 0 "$(grep -ac '^rank ' <<<"$seen")"
        done
    done

    lines "0 $t/mpich/who" "1 $t/mpich/static"
    try "auto: with a static program all run on the image's own" \
        "~note: the image's own MPI runs \(hybrid\): '$t/mpich/static' is linked statically" \
        "grep ^berth:" -- "${step[@]}" --mpi-bind=auto lines
    equal "auto: and none on the host's" 0 "$(grep -ac '^rank .*!\]' <<<"$output")"
fi

script_tell
A=--container-image=/images/a.sif
B=--container-image=/images/b.sif
W="/bin/sh /home/alice/tell"

# Four tasks on two nodes.
sorted="sort | paste -sd' '"
four=(srun -w "n1,n2" -N2 -n4)
lines "0-1 $A $W A" "2 $B $W B" "3 $W H"
try "an image for each line" "A=a A=a B=b H=host" "$sorted" -- "${four[@]}" --multi-prog lines
lines "0 $W A" "1 $B $W B" "2 --container-image=none $W N" "* $W D"
try "the command line has the default, none cancels it" "A=a B=b D=a N=host" "$sorted" \
    -- "${four[@]}" $A --multi-prog lines
lines "0,2 --container-mounts=/home/alice/ma:/mnt --container-workdir=/mnt $W A" \
    "1 $B --container-workdir=/tmp $W B" "3 $W D"
try "options on lines" "A=a,/mnt,ma A=a,/mnt,ma B=b,/tmp D=a" "$sorted" \
    -- "${four[@]}" $A --multi-prog lines
lines "0 $A $W r%t-%o" "1-2 $A $W r%t-%o" "3 $B $W r%t-%o"
try "an argument of its own for each rank" "r0-0=a r1-0=a r2-1=a r3-0=b" "$sorted" \
    -- "${four[@]}" --multi-prog lines
lines '# 0-3 nobody' "0 --container-env=LINE='it '\\'s $W A" '' "1 --container-env='LINE=a b' \\" \
    "  $B $W B" "* $W D"
try "quotes, comments and lines that go on" "A=a,it 's B=b,a b D=a D=a" "$sorted" \
    -- "${four[@]}" $A --multi-prog lines
lines "0-1 --container-image /images/a.sif $W A" "2-3 --container-image /images/b.sif $W B"
try "a value behind a blank" "A=a A=a B=b B=b" "$sorted" -- "${four[@]}" --multi-prog lines

# Each image once on each node, though three lines have the first.
alice sh -c 'rm -f fifo; mkfifo fifo'
lines "0-1 $A cat fifo" "2 $A --container-env=LINE=1 cat fifo" "3-5 $B cat fifo" "6 $A cat fifo" \
    "7 cat fifo"
start each alice srun -w n1 -n8 -O --multi-prog lines
wait_for 30 has_processes n1 cat 8
equal "each image is started once on a node" "8 2" \
    "$(on n1 root pgrep -u alice -x -c cat) $(on n1 root pgrep -u alice -c -f \
    -- 'runtime parent|--hold [0-9]' |
        awk '{ print $1 / 2 }')"
alice sh -c ': >fifo'
wait
equal "... without a word" "" "$(cat "$work/each")"
alice rm -f fifo

# refuses TITLE PATTERN [OPTION]: the step of these lines is refused, and no task runs.
refuses() {
    try "$1" "~$2.*status [1-9]" -- srun -w n1 -n2 ${3:+"$3"} --multi-prog lines
    equal "$1: nothing runs" 0 "$(grep -c '^[A-Z]=' <<<"$seen")"
}
# (tests/unit/multiprog.c has all that can be wrong with a line.)
line="^srun: error: berth: --multi-prog: 'lines': line"
lines "0 $A $W A" "1 --container-imag=/images/b.sif $W B"
refuses "an option that is none" \
    "$line 2: '--container-imag' is not an option; did you mean '--container-image'\?"
lines "0 --container-image=/images/nope.sif $W A" "1 --container-image=/images/nope.sif $W B"
refuses "an image that is not there" "berth: n1: image '/images/nope.sif': .*"
lines "0-1 --container-image=/images/mpich.sif --mpi-bind=host mpirun mpiring"
refuses "an mpirun in each task of a line" \
    "berth: n1: --mpi-bind=host: srun starts the ranks, and each of the 2 tasks would start 'mpirun'"
lines "0 $A $W A" "1 $B $W B"
refuses "too few tasks on the lines" "srun: error: .*" -n3

site <<'YAML'
mounts:
  forbidden: [/etc/slurm]
YAML
lines "0 $A $W A" "1 $B --container-mounts=/etc/slurm:/s $W B"
refuses "what the site forbids on one line" "line 2: .*this site forbids '/etc/slurm'"
site </dev/null

# A command that is not there: of an image, and of the host.
step=(srun -w n1 -n2 --kill-on-bad-exit=0 --multi-prog lines)
lines "0 $A nope" "1 $B $W B"
try "a command that an image has not" \
    "~berth: n1: image '/images/a.sif': command 'nope' is not on the image's PATH .*status 127$" \
    -- "${step[@]}"
lines "0 $A $W A" "1 nope"
try "a command that the host has not" \
    "~berth: n1: .*command 'nope': No such file or directory; check the name, or give its path.*status 127$" -- "${step[@]}"

# What is wrong with each line is said, and others do not wait for one that cannot start.
lines "0 $A nope" "1 $B no" "2 neither"
try "each line has its fault" "command 'neither' command 'no' command 'nope'" \
    "grep -o \"command '[a-z]*'\" | $sorted" -- \
    srun -w n1 -n3 --kill-on-bad-exit=0 --multi-prog lines
lines "0 $A nope" "1 $B sleep 50"
matches "one that cannot start ends the others" "Terminating StepId" \
    "$(alice srun -w n1 -n2 --multi-prog lines 2>&1 </dev/null)"

# Programs of one image in two directories: each is judged where it is.
alice srun -w n1 --container-image=/images/mpitrixie.sif \
    sh -c "mkdir -p m1 m3 && cp $t/mpich/who m1/one && cp $t/openmpi/who m3/three"
lines "0 --container-workdir=/home/alice/m1 ./one" "1 --container-workdir=/home/alice/m3 ./three"
try "a program in a directory of its own" \
    "~berth: n1: [^$nl]*--mpi-bind=host: [^$nl]*Open MPI.*status" -- \
    srun -w n1 -n2 --mpi=pmi2 --mpi-bind=host --container-image=/images/mpitrixie.sif --multi-prog \
    lines

# The account of each line, by its first rank.
lines "0-1 $A $W A" "2 $B $W B" "3 $W H"
try "each line has an account" \
    "0: ranks 0-1: 2 tasks run $W A in /images/a.sif|2: rank 2: 1 task runs $W B in /images/b.sif|3: rank 3: 1 task runs $W H without a container" \
    "grep -E 'ranks? [0-9]|^status|^[A-Z]=' | sort | paste -sd'|'" \
    -- "${four[@]}" --container-explain --multi-prog lines
equal "and nothing of another task" 0 "$(grep -c '    SLURM_PROCID=' <<<"$output")"
try "as JSON" "0-1 /images/a.sif" \
    "python3 -c 'import json, sys; it = json.load(sys.stdin)[0]; print(it[\"ranks\"], it[\"image\"][\"path\"])'" -- \
    "${four[@]}" --container-explain=json --multi-prog lines

# Two images are one MPI_COMM_WORLD, and each has a witness.
lines "0-1 --container-image=/images/mpibookworm.sif $t/mpich/who" \
    "2 --container-image=/images/mpitrixie.sif $t/mpich/who" \
    "3 --container-image=/images/mpibookworm.sif $t/mpich/who"
try "MPICH in two images: the ranks of each are witnessed" "mpibookworm: 3 of 3 mpitrixie: 1 of 1" \
    "sed -nE \"s|^berth: n1: note: image '/images/(.*).sif': --mpi-bind=host: ([0-9] of [0-9]) ranks loaded.*|\1: \2|p; /^status/p\" | $sorted" -- \
    srun -v -w n1 -n4 --mpi=pmi2 --mpi-bind=host --multi-prog lines
equal "... in one world" 4 "$(grep -acE '^rank [0-3] of 4 ' <<<"$output")"
lines "0-1 --container-image=/images/mpich.sif sleep 2" \
    "2-3 --container-image=/images/mpibookworm.sif sh -c '$t/openmpi/who; sleep 1'"
try "an MPI that finds no other rank: the image that has it is named" \
    "~berth: n1: warning: image '/images/mpibookworm.sif': if the program uses MPI: the image's Open MPI" "grep ^berth:" -- \
    srun -Q -w n1 -n4 --mpi=pmi2 --multi-prog lines
equal "... and no other" 1 "$(grep -c '^berth: ' <<<"$seen")"
if has_pmix; then
    lines "0-1 --container-image=/images/mpitrixie.sif $t/openmpi/who" \
        "2-3 --container-image=/images/mpibookworm.sif $t/openmpi/who"
    try "Open MPI in two images is one world" "rank 0 of 4 rank 1 of 4 rank 2 of 4 rank 3 of 4" \
        "grep -aoE '^(rank [0-3] of 4|status.*)' | $sorted" \
        -- srun -Q -w n1 -n4 --mpi=pmix --mpi-bind=host --multi-prog lines
else
    result skip "Open MPI in two images is one world" "this Slurm has no PMIx"
fi
finish
