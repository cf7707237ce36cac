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

# as_script ROWS...: one srun line for each row, its output in a file of its own.
as_script() {
    local prefix=$1 spread=$2 extra=$3 i=0 row args
    shift 3
    for row in "$@"; do
        args=${row#*|}
        args=${args%|*}
        args=${args//@/$spread}
        # Options stand before the first component's own; the others need them too.
        args=${args// : / : $extra }
        echo "timeout -k 10 120 srun $extra $args >$prefix.$i 2>&1"
        i=$((i + 1))
    done
}

# judge PREFIX TITLE ROWS...
judge() {
    local i=0 row
    for row in "${@:3}"; do
        equal "$2: ${row%%|*}" "${row##*|}" "$(on login alice cat "$1.$i" 2>&1 | summary)"
        i=$((i + 1))
    done
}

in_batch() {
    local prefix=$1 title=$2 header=$3 spread=$4 extra=$5
    shift 5
    {
        echo '#!/bin/bash'
        echo "$header"
        as_script "$prefix" "$spread" "$extra" "$@"
    } | script "$prefix.sh"
    alice ./submit -o "$prefix.log" "./$prefix.sh" || on login alice scancel -u alice
    judge "$prefix" "$title" "$@"
}

plain='#SBATCH -N3 --ntasks-per-node=2'
het='#SBATCH -N1 -n2
#SBATCH hetjob
#SBATCH -N1 -n2
#SBATCH hetjob
#SBATCH -N1 -n2'
clean='#SBATCH --export=NONE'

# srun makes the het job itself.
as_script login "-N1 -n2" "" "${steps[@]}" | script login.sh
LIMIT=900 alice bash ./login.sh
judge login "srun" "${steps[@]}"
as_script loginnone "-N1 -n2" "--export=NONE" "${steps[@]:0:6}" | script loginnone.sh
LIMIT=900 alice bash ./loginnone.sh
judge loginnone "srun --export=NONE" "${steps[@]:0:6}"

# Het steps in one allocation, and het jobs.
in_batch step "het step" "$plain" "-N1 -n2" "" "${steps[@]}"
in_batch stepnone "het step, --export=NONE" "$plain"$'\n'"$clean" "-N1 -n2" "" "${steps[@]}"
in_batch job "het job" "$het" "-n2" "" "${steps[@]}"
in_batch group "het job" "$het" "-n2" "-n2" "${groups[@]}"
in_batch groupnone "het job, --export=NONE" "$het"$'\n'"$clean" "-n2" "-n2" "${groups[@]}"

# The job has a default.
in_batch stepdef "het step in sbatch --container-image" "$plain"$'\n'"#SBATCH $C" "-N1 -n2" "" "${defaults[@]}"
in_batch jobdef "het job in sbatch --container-image" \
    "${het//-N1 -n2/-N1 -n2 $C}" "-n2" "" "${defaults[@]}"
in_batch defnone "het step in sbatch --container-image --export=NONE" \
    "$plain"$'\n'"$clean"$'\n'"#SBATCH $C" "-N1 -n2" "" "${defaults[@]}"
{
    echo '#!/bin/bash'
    as_script salloc "-N1 -n2" "" "${defaults[@]}"
} | script salloc.sh
LIMIT=600 alice salloc -Q -N3 --ntasks-per-node=2 "$C" ./salloc.sh
judge salloc "het step in salloc --container-image" "${defaults[@]}"

# One sbatch with two defaults.
next_job() { on login root scontrol show config | grep NEXT_JOB_ID; }
before=$(next_job || echo "unknown")
seen=$(alice sbatch -N1 $A : -N1 $B --wrap=true 2>&1)
matches "sbatch A : B is refused, with advice" \
    "components of this job have different.*sruns inside" "$seen"
script differ.sh <<EOF
#!/bin/bash
#SBATCH -N1 $A
#SBATCH hetjob
#SBATCH -N1 $B
true
EOF
seen=$(alice sbatch ./differ.sh 2>&1)
matches "#SBATCH A, hetjob, #SBATCH B is refused, with advice" \
    "components of this job have different.*sruns inside" "$seen"
equal "nothing of that was submitted" "$before" "$(next_job)"

# Options of pyxis for what berth does anyway, from a job and its step.
script pyxis.sh <<EOF
#!/bin/bash
#SBATCH -N1 $A --container-writable --no-container-remap-root --no-container-entrypoint -o pyxis.out
writes='echo x 2>/dev/null >/etc/x; echo \$?'
srun sh -c "cat /etc/berth-image; \$writes"
srun --container-readonly --container-entrypoint-log sh -c "\$writes"
EOF
alice sbatch --wait ./pyxis.sh >/dev/null 2>&1
matches "options of pyxis for what berth does anyway" $'^a\n0\n[12]$' "$(alice cat pyxis.out)"

finish
