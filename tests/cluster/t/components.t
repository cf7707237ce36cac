#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every component gets exactly its own image, mounts and workdir, and nothing of another:
# the table that berth exists for.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b c
script_submit

script_tell

A=--container-image=/images/a.sif
B=--container-image=/images/b.sif
C=--container-image=/images/c.sif
N=--container-image=none
MA="--container-mounts=/home/alice/ma:/mnt --container-workdir=/mnt"
MB="--container-mounts=/home/alice/mb:/mnt --container-workdir=/tmp"
W="/bin/sh /home/alice/tell"

# Rows: title | arguments of srun | what is seen, sorted. @ stands for what gives each
# component two tasks where srun makes the allocation itself.
steps=(
    "both have an image|@ $A $W A : @ $B $W B|A=a B=b"
    "only the first has one|@ $A $W A : @ $W B|A=a B=host"
    "only the second has one|@ $W A : @ $B $W B|A=host B=b"
    "only the third has one|@ $W A : @ $W B : @ $C $W C|A=host B=host C=c"
    "three images|@ $A $W A : @ $B $W B : @ $C $W C|A=a B=b C=c"
    "the same in first and third|@ $A $W A : @ $B $W B : @ $A $W C|A=a B=b C=a"
    "the same in all|@ $A $W A : @ $A $W B|A=a B=a"
    "none in the second|@ $A $W A : @ $N $W B|A=a B=host"
    "none in the first|@ $N $W A : @ $B $W B|A=host B=b"
    "own mounts and workdir|@ $A $MA $W A : @ $B $MB $W B|A=a,/mnt,ma B=b,/tmp,mb"
    "mounts only in the second|@ $A $W A : @ $A $MB $W B|A=a B=a,/tmp,mb"
    "mounts only in the first|@ $A $MA $W A : @ $A $W B|A=a,/mnt,ma B=a"
)
groups=(
    "groups 0 : 1|--het-group=0 $A $W A : --het-group=1 $B $W B|A=a B=b"
    "groups 1 : 0|--het-group=1 $A $W A : --het-group=0 $B $W B|A=a B=b"
    "groups 2 : 0|--het-group=2 $A $W A : --het-group=0 $B $W B|A=a B=b"
    "groups 2 : 1 : 0|--het-group=2 $A $W A : --het-group=1 $B $W B : --het-group=0 $C $W C|A=a B=b C=c"
    "groups 1 : 0, only the first has one|--het-group=1 $A $W A : --het-group=0 $W B|A=a B=host"
    "groups 1 : 0, only the second has one|--het-group=1 $W A : --het-group=0 $B $W B|A=host B=b"
    "one spec for groups 0,1|--het-group=0,1 $A $W A|A=a A=a"
    "one spec for 0,1 and one for 2|--het-group=0,1 $A $W A : --het-group=2 $B $W B|A=a A=a B=b"
    "one spec for 2 and one for 0-1|--het-group=2 $A $W A : --het-group=0-1 $B $W B|A=a B=b B=b"
    "one group alone|--het-group=1 $B $W B|B=b"
    "no --het-group in a het job|$A $W A : $B $W B|A=a B=b"
    "an argument --het-group of the program|--het-group=1 $A $W A --het-group=0 : --het-group=0 $B $W B|A=a B=b"
)
defaults=(
    "the job's image for both|@ $W A : @ $W B|A=c B=c"
    "the job's image replaced in the second|@ $W A : @ $B $W B|A=c B=b"
    "the job's image replaced in the first|@ $A $W A : @ $W B|A=a B=c"
    "the job's image cancelled in the first|@ $N $W A : @ $W B|A=host B=c"
    "mounts added in the second|@ $W A : @ $MB $W B|A=c B=c,/tmp,mb"
)

# The tasks of a component are two each; in the table one word stands for them.
summary() {
    grep -E '^[ABC]=|berth:' | sort | awk '{ n[$0]++ } END { for (l in n) {
        k = n[l] / 2; if (k < 1 || k != int(k)) print l "(" n[l] " tasks)";
        else for (i = 0; i < k; i++) print l } }' | sort | paste -sd' '
}

# table TITLE SPREAD EXTRA ROW...
table() {
    local it args
    for it in "${@:4}"; do
        args=${it#*|}
        args=${args%|*}
        args=${args//@/$2}
        # Options stand before the first component's own; the others need them too.
        row "$1: ${it%%|*}" "${it##*|}" summary "timeout -k 10 120 srun $3 ${args// : / : $3 }"
    done
}

plain='#SBATCH -N3 --ntasks-per-node=2'
het='#SBATCH -N1 -n2
#SBATCH hetjob
#SBATCH -N1 -n2
#SBATCH hetjob
#SBATCH -N1 -n2'
clean='#SBATCH --export=NONE'

# srun makes the het job itself.
table "srun" "-N1 -n2" "" "${steps[@]}"
! thorough || table "srun --export=NONE" "-N1 -n2" "--export=NONE" "${steps[@]:0:6}"
run_rows bash

# Het steps in one allocation, and het jobs.
batch=(./submit -o batch.log)
if thorough; then
    table "het step" "-N1 -n2" "" "${steps[@]}"
    header=$plain run_rows "${batch[@]}"
    table "het job" "-n2" "" "${steps[@]}"
    table "het job" "-n2" "-n2" "${groups[@]}"
    header=$het run_rows "${batch[@]}"
fi
table "het step, --export=NONE" "-N1 -n2" "" "${steps[@]}"
header=$plain$nl$clean run_rows "${batch[@]}"
table "het job, --export=NONE" "-n2" "-n2" "${groups[@]}"
header=$het$nl$clean run_rows "${batch[@]}"

# The job has a default.
table "het step in sbatch --container-image" "-N1 -n2" "" "${defaults[@]}"
header=$plain$nl"#SBATCH $C" run_rows "${batch[@]}"
table "het job in sbatch --container-image" "-n2" "" "${defaults[@]}"
header=${het//-N1 -n2/-N1 -n2 $C} run_rows "${batch[@]}"
table "het step in sbatch --container-image --export=NONE" "-N1 -n2" "" "${defaults[@]}"
header=$plain$nl$clean$nl"#SBATCH $C" run_rows "${batch[@]}"
table "het step in salloc --container-image" "-N1 -n2" "" "${defaults[@]}"
run_rows salloc -Q -N3 --ntasks-per-node=2 "$C"

# Each group of a het job has a default of its own.
own="#SBATCH -N1 -n2 $A
#SBATCH hetjob
#SBATCH -N1 -n2
#SBATCH hetjob
#SBATCH -N1 -n2 $C $MB"
each=(
    "the images of groups 0 : 2|--het-group=0 $W A : --het-group=2 $W B|A=a B=c,/tmp,mb"
    "... 2 : 0|--het-group=2 $W A : --het-group=0 $W B|A=c,/tmp,mb B=a"
    "... 0 : 1|--het-group=0 $W A : --het-group=1 $W B|A=a B=host"
    "... 2 alone|--het-group=2 $W C|C=c,/tmp,mb"
    "... of one spec for 0,2|--het-group=0,2 $W A|A=a A=c,/tmp,mb"
    "... without --het-group|$W A|A=a"
    "... without --het-group, A : B : C|$W A : $W B : $W C|A=a B=host C=c,/tmp,mb"
    "... replaced, and cancelled|--het-group=0 $B $W A : --het-group=2 $N $W B|A=b B=host"
    "... given where there is none|--het-group=1 $B $W B : --het-group=2 $W C|B=b C=c,/tmp,mb"
)
table "#SBATCH of each group" "-n2" "-n2" "${each[@]}"
header=$own run_rows "${batch[@]}"
table "... --export=NONE" "-n2" "-n2" "${each[@]:0:4}"
header=$own$nl$clean run_rows "${batch[@]}"
# shellcheck disable=SC2206 # lists
words=(-N1 -n2 $A : -N1 -n2 : -N1 -n2 $C $MB)
table "sbatch A : B : C" "-n2" "-n2" "${each[@]:0:4}"
run_rows "${batch[@]}" "${words[@]}"
table "salloc A : B : C" "-n2" "-n2" "${each[@]:0:4}"
run_rows salloc -Q "${words[@]}"
# shellcheck disable=SC2016,SC2086 # for sh; words
try "salloc --chdir with two images" /home/alice -- \
    salloc -Q -n1 --chdir=ma $A : -n1 $B sh -c 'echo "$SLURM_SUBMIT_DIR"'
script stdin.sh <<EOF
#!/bin/bash
#SBATCH -o stdin.out
$own
srun -n1 --het-group=0 $W A : -n1 --het-group=2 $W C
EOF
# shellcheck disable=SC2016 # for bash
for input in stdin.sh '<stdin.sh' '<<<"$(<stdin.sh)"'; do
    try "the script of that: $input" "A=a${nl}C=c,/tmp,mb" sort \
        -- bash -c "./submit $input; cat stdin.out"
done
try "a script that can be read only once" '~and it is not in a file; give sbatch a file.status 1' \
    -- \
    bash -c './submit <(cat stdin.sh)'
spoil login 'chmod 711 /usr/bin/sbatch' 'chmod 755 /usr/bin/sbatch'
try "the environment, when only root can read the file sbatch" /home/alice -- \
    bash -c "./submit -o home.out -n1 $A : -n1 $B --wrap='echo \$HOME' && head -n1 home.out"
put_back

# Options of pyxis for what berth does anyway, from a job and its step.
script pyxis.sh <<EOF
#!/bin/bash
#SBATCH -N1 $A --container-writable --no-container-remap-root --no-container-entrypoint -o pyxis.out
writes='echo x 2>/dev/null >/etc/x; echo \$?'
srun sh -c "cat /etc/berth-image; \$writes"
srun --container-readonly --container-entrypoint-log sh -c "\$writes"
EOF
try "options of pyxis for what berth does anyway" $'~^a\n0\n[12]$' \
    -- bash -c './submit ./pyxis.sh; cat pyxis.out'

finish
