#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# srun --multi-prog with options on the lines of its file: the request of each rank, and
# the refusal of each wrong line.
# shellcheck source=tests/spank/lib.sh
. "${srcdir:-.}/tests/spank/lib.sh"

A=--container-image=T/a
B=--container-image=T/b
# each NAME EXPECTED LINE...: what $tasks tasks run with a file of these lines, with $options.
each()
{
    name=$1
    lines=$2
    shift 2
    printf '%s\n' "$@" >conf
    # shellcheck disable=SC2086 # words
    expect "$name" 0 "$lines" FAKE_TASKS=$tasks srun $options --multi-prog conf
}

# The command has all words of the line: berth-task removes the options.
options=
tasks=4
each 'an image for each line' \
    "0 $A: --container-image=a ./x
0 $B --mpi-bind=auto world=image: --container-image=b --mpi-bind ./y 1
0 $B --mpi-bind=auto world=image: --container-image=b --mpi-bind ./y 1
0 : ./z" \
    '0 --container-image=a ./x' '1-2 --container-image=b --mpi-bind ./y 1' '3 ./z'
tasks=2
each 'an mpirun on each of two lines' \
    "0 $A --mpi-bind=local: --container-image=a --mpi-bind=local ./x
0 $A --mpi-bind=local: --container-image=a --mpi-bind=local ./y" \
    '0 --container-image=a --mpi-bind=local ./x' '1 --container-image=a --mpi-bind=local ./y'
tasks=4
options=--container-image=a
each 'the image of the command line is the default' \
    "0 $A: ./x
0 $B: --container-image=b ./y
0 : --container-image=none ./z
0 $A --container-writable: --container-writable ./x" \
    '0 ./x' '1 --container-image=b ./y' '2 --container-image=none ./z' '* --container-writable ./x'
options='--container-image=a --container-explain'
tasks=2
each 'an account of each line' \
    "0 $A --container-explain=text: ./x
0 --container-explain=text: --container-image=none ./z" \
    '0 ./x' '1 --container-image=none ./z'
options=

if since 23.11; then
    tasks=1
    printf '0 --container-image=a ./x\n1 --container-image=b ./y\n2 ./z\n' >conf
    expect 'exactly what changes for a task' 0 \
        "0 $A: --container-image=a ./x
argv: LIBEXEC/berth-task --container-image=a ./x
- SLURM_BERTH_CONTAINERS=2
- table /0: $A; /1: $B; /2:
$(order "$A" ' ranks=0 first' '' '' | sed \
    's|container-tasks=1|& other-containers=1 container-locals=0 host-tasks=1|')
0 $B: --container-image=b ./y
argv: LIBEXEC/berth-task --container-image=b ./y
- SLURM_BERTH_CONTAINERS=2
- table /0: $A; /1: $B; /2:
$(order "$B" ' ranks=1 first' '' '' | sed \
    's|container-tasks=1|container=1 & other-containers=1 container-locals=1 host-tasks=1|')
0 : ./z
argv: LIBEXEC/berth-task ./z
- SLURM_BERTH_CONTAINERS=2
- table /0: $A; /1: $B; /2:
$(order '' ' ranks=2 first' | sed 's|container-tasks=1|& other-containers=2 host-tasks=1|')" \
        FAKE_RAW=1 FAKE_TASKS=3 srun --multi-prog conf
    printf '%s\n' '0 ./x' '1 --container-env=N=1 ./y' >conf
    site 'provenance: {file: /r}'
    together='container-tasks=2 container-ranks=0,1 container-all=2'
    expect 'a record is of all ranks in the container' 0 \
        "0 $A: ./x
argv: LIBEXEC/berth-task ./x
- table /0: $A; /1: $A --container-env=N=1
$(order "$A" ' prints-component prints-step ranks=0 first' 'record=/r' |
    sed "s|container-tasks=1|$together|")
0 $A --container-env=N=1: --container-env=N=1 ./y
argv: LIBEXEC/berth-task --container-env=N=1 ./y
- table /0: $A; /1: $A --container-env=N=1
$(order "$A --container-env=N=1" ' prints-component ranks=1 first' 'record=/r' |
    sed "s|container-tasks=1|$together|")" \
        FAKE_RAW=1 FAKE_TASKS=2 "FAKE_WORDS=$SITE" srun --container-image=a --multi-prog conf
    printf '%s\n' '0 ./x' '1 ./y' >conf
    X="$A --container-explain=text"
    step="- table /0: $X; /1: $X"
    expect 'an account of each line, though both ask for the same' 0 \
        "0 $X: ./x
argv: LIBEXEC/berth-task ./x
$step
$(order "$X" ' prints-component prints-step ranks=0 first' |
    sed 's|container-tasks=1|container-tasks=2|')
0 $X: ./y
argv: LIBEXEC/berth-task ./y
$step
$(order "$X" ' prints-component ranks=1 first' | sed 's|container-tasks=1|container-tasks=2|')" \
        FAKE_RAW=1 FAKE_TASKS=2 srun --container-image=a --container-explain --multi-prog conf
fi

# wrong NAME SENTENCE LINE...: a refusal that names the line. (tests/unit/multiprog.c has all.)
wrong()
{
    wrong_name=$1
    sentence=$2
    shift 2
    printf '%s\n' '0 ./x' '# a comment' "$@" >conf
    expect "$wrong_name" 1 "srun: error: berth: --multi-prog: 'conf': line 3: $sentence" \
        srun --container-image=a --multi-prog conf
}
wrong 'a misspelt option' \
    "'--container-imag' is not an option; did you mean '--container-image'?" \
    '1 --container-imag=b ./y'
wrong 'an mpirun of its own in many tasks' \
    '--mpi-bind=local: only one task may start an mpirun, but 3 tasks would; use -n1 -c3, or
        --mpi-bind=local-each for an mpirun in every task' \
    '1-3 --mpi-bind=local ./y'

echo '0-2 --mpi-bind=host mpirun ./y' >conf
expect 'an mpirun in each task of a line' 1 \
    "berth: n1: --mpi-bind=host: srun starts the ranks, and each of the 3 tasks would start
        'mpirun'; leave the mpirun out, or use --mpi-bind=local for an mpirun in one task" \
    FAKE_TASKS=3 srun --container-image=a --multi-prog conf

# Warnings of what may be a mistake.
printf '0 ./x --container-image=b\n1 --container-image=b ./y %%d -- --mpi-bind\n' >conf
expect 'an option behind the program' 0 \
    "srun: berth: warning: --multi-prog: 'conf': line 1: './x' gets '--container-image=b' as an
        argument; write options before the command
0 : ./x --container-image=b
0 $B: --container-image=b ./y %d -- --mpi-bind" \
    FAKE_TASKS=2 srun --multi-prog conf
printf '0,,1, ./x\n' >conf
expect 'commas as Slurm reads them' 0 '0 host: ./x
0 host: ./x' FAKE_TASKS=2 srun --multi-prog conf

# A program that cannot start ends all.
echo '0 --container-image=a ./x' >conf
expect 'lines with images are killed on a bad exit' 0 \
    "published /0: $A, kill on bad exit
0 $A: --container-image=a ./x" \
    FAKE_SHOW=1 srun --multi-prog conf
echo '0 --mpi-bind ./x' >conf
expect 'so are those with MPI, whatever the command line says' 0 \
    "published /0: $A --mpi-bind=auto, kill on bad exit
0 $A --mpi-bind=auto: --mpi-bind ./x" \
    FAKE_SHOW=1 srun --container-image=a --mpi-bind=off --multi-prog conf
echo '0 ./x' >conf
expect 'others are not' 0 \
    "published /0: $A
0 $A: ./x" \
    FAKE_SHOW=1 srun --container-image=a --multi-prog conf

# One MPI_COMM_WORLD.
printf '0 --container-image=a ./x\n1 --container-image=b ./y\n' >conf
expect 'lines are one component, which --mpi=pmi2 serves in an allocation' 0 \
    "0 $A: --container-image=a ./x
0 $B: --container-image=b ./y" \
    SLURM_JOB_ID=100 FAKE_TASKS=2 srun --mpi=pmi2 --multi-prog conf
printf '0 --mpi-bind=host ./x\n1 --mpi-bind=hybrid ./y\n' >conf
expect 'two MPI libraries' 1 \
    "srun: error: berth: --mpi-bind=hybrid: other ranks of this srun have --mpi-bind=host, and ranks
        with two MPI libraries wait in MPI_Init forever; give --mpi-bind=hybrid to all, on both
        sides of ':', or each an srun of its own" \
    srun --container-image=a --multi-prog conf
printf '0 --mpi-bind ./x\n1 --mpi-bind=hybrid ./y\n' >conf
expect 'auto is one thing in all lines' 0 \
    "0 $A --mpi-bind=auto world=image: --mpi-bind ./x
0 $A --mpi-bind=hybrid: --mpi-bind=hybrid ./y" \
    FAKE_TASKS=2 srun --container-image=a --multi-prog conf
printf '0 --mpi-bind ./x\n1 --container-env=N=1 --mpi-bind ./y\n' >conf
expect 'and lines of one container choose together' 0 \
    "0 $A --mpi-bind=auto: --mpi-bind ./x
0 $A --container-env=N=1 --mpi-bind=auto: --container-env=N=1 --mpi-bind ./y" \
    FAKE_TASKS=2 srun --container-image=a --multi-prog conf
: >conf
i=0
while [ $i -lt 65 ]; do
    echo "$i --container-mounts=/$i:/x ./x" >>conf
    i=$((i + 1))
done
expect 'too many containers' 1 \
    "srun: error: berth: --multi-prog: 'conf': line 65: the lines need more than 64 different
        containers; let more of them have the same options" \
    srun --container-image=a --multi-prog conf
# A table that srun did not write: the node refuses the first task.
expect 'a table with more containers than announced' 1 \
    'berth: n1: internal data is damaged (SLURM_BERTH_CONTAINERS); have one release of berth on all
        hosts, and set no variable of berth by hand' \
    FAKE_TABLE="1;/1:image=$T/a;/0:image=$T/b;." srun ./x '0-1 ./x'
expect 'a rank without a line' 1 \
    'berth: n1: internal data is damaged (rank 0 of no line); have one release of berth on all
        hosts, and set no variable of berth by hand' \
    FAKE_TABLE="1;/1:image=$T/a;." srun ./x
expect 'a file that is not there' 1 \
    "srun: error: berth: --multi-prog: 'nope': No such file or directory" \
    srun --container-image=a --multi-prog nope
perl -e 'print "# a comment\n" x 5001, "0 ./x\n"' >conf
expect 'a file that srun takes from 25.05 on' 0 "0 $A: ./x" srun --container-image=a --multi-prog \
    conf
echo '# a comment' >conf
expect 'a file without lines is for Slurm to refuse' 99 'FAULT: no program in the configuration' \
    FAKE_TASKS=1 srun --multi-prog conf
echo '* --container-image=none ./x' >conf
expect 'an account without an image' 1 \
    'srun: error: berth: --container-explain: it needs an image; add --container-image=IMAGE' \
    srun --container-explain --multi-prog conf
expect 'an account without an image on any line' 1 \
    'srun: error: berth: --container-explain: no line of the --multi-prog file runs in an image;
        name an image' \
    srun --container-image=a --container-explain --multi-prog conf
finish
