#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A coupler that models really use: a toy atmosphere and a toy ocean, each in an image of its
# own and on a grid of its own, exchange fields through OASIS3-MCT, which interpolates them.
# Every rank checks what it gets, in both directions.
#
# The images are of two releases of Debian with two releases of Open MPI, for which Debian
# builds the coupler. They understand each other on the host's. het components start one after
# the other, with which Open MPI does not always come to terms (see coupled.t); programs of
# one step do not.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

if ! has_pmix; then
    result skip "two models and a coupler" "this Slurm has no PMIx, which Open MPI needs"
    finish
    exit
fi
need_images oasisatm oasisocn
script_submit

# More ranks than cores: Open MPI waits by asking without end.
options="--mpi-bind=host --container-env=OMPI_MCA_mpi_yield_when_idle=1"
atm="$options --container-image=/images/oasisatm.sif toyatm"
ocn="$options --container-image=/images/oasisocn.sif toyocn"

# submit HEADER SRUN...: a batch job in a new directory, where the models find what they are
# to exchange, and its output when it has ended.
submit() {
    on login alice sh -c 'rm -rf oasis && mkdir oasis && cat >oasis/namcouple' \
        <"$here/../oasis/namcouple"
    printf '0-2 %s%s\n3-4 %s\n' "$atm" "${late-}" "$ocn" |
        on login alice sh -c 'cat >oasis/programs'
    printf '#!/bin/bash\n%s\ntimeout -k 5 60 srun --mpi=pmix %s\necho "status $?"\n' \
        "$1" "$2" | script oasis.sh
    alice ./submit -D oasis -o oasis.out oasis.sh || on login alice scancel -u alice
    on login alice cat oasis/oasis.out
}

# said NODE IMAGE MODEL OTHER SIZE: what the first rank of a model says. A `!` is behind each
# library that lies over the image's.
said() {
    echo "$3: $5 of 5 ranks, 8 fields of $4 are right on $1 in $2: Open MPI"
}

# couple TITLE HEADER SRUN NODE: the ocean's first rank is on NODE.
couple() {
    local title=$1 seen told turn expected
    expected=$(echo "status 0"
        said n1 oasisatm toyatm toyocn 3
        said "$4" oasisocn toyocn toyatm 2)
    for turn in 1 2 3; do
        seen=$(submit "$2" "$3" 2>&1)
        told=$(grep -aE '^(toyatm|toyocn|status)' <<<"$seen" | sed 's/ v[0-9].*//' | sort)
        [[ $told != "$expected" ]] || break
        echo "# $title, attempt $turn: $(paste -sd';' <<<"$told")"
    done
    equal "$title: both models get the right fields" "$expected" "$told"
    equal "$title: ... on the host's Open MPI" 2 \
        "$(grep -acE '^toy.*!\]$' <<<"$seen")"
}

plain='#SBATCH -N2 --ntasks-per-node=3 -w n1,n2'
het='#SBATCH -N1 -n3 -w n1
#SBATCH hetjob
#SBATCH -N1 -n2 -w n2'

couple "a het job" "$het" "-n3 $atm : -n2 $ocn" n2
couple "het steps in one allocation" "$plain" "-N1 -n3 $atm : -N1 -n2 $ocn" n2
couple "programs that share their nodes" "$plain" "-N2 -n5 -m cyclic --multi-prog programs" n2

# The models see a field of another step.
started=$SECONDS
seen=$(late=' late' && submit "$plain" "-N2 -n5 -m cyclic --multi-prog programs" 2>&1)
matches "a field of the step before is noticed" \
    'toyocn got a wrong field: step 0, point [0-9]+, [0-9]+: 8[0-9.]+ and not 9' "$seen"
matches "... and ends the step" $'\nstatus [1-9]' "$seen"
equal "... at once" yes "$( ((SECONDS - started < 50)) && echo yes)"
finish
