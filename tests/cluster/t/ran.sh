# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154 # for, and of, those who source this
# For the tests that ask which MPI library really runs: rows of steps, and what ranks of the
# programs of tests/cluster/mpi have told.

if has_pmix; then pmix=yes; else pmix=; fi
# shellcheck disable=SC2034
case $release in
bookworm) MPICH="MPICH 4.0.2" OPENMPI="Open MPI 4.1.4" ;;
trixie) MPICH="MPICH 4.2.1" OPENMPI="Open MPI 5.0.7" ;;
*) MPICH="MPICH 5.0.2" OPENMPI="Open MPI 6.0.0rc2" ;;
esac

# The libraries in what ranks have told, by name and version.
library() {
    sed -nE '/^(rank [0-9]|ran )/ {
        s/^[^:]*: //; s/ \[.*//
        s/^MPICH Version:[[:blank:]]*/MPICH /
        s/^Open MPI v([^,]*),.*/Open MPI \1/
        s/^Intel\(R\) MPI Library ([0-9.]+).*/Intel \1/
        p }' | sort -u | paste -sd+
}

# strange MODE: the mapped libraries that do not come from where MODE says.
strange() {
    local it
    for it in $(sed -nE 's/^(rank [0-9]|ran ).* \[(.*)\]$/\2/p' | tr ' ' '\n' | sort -u); do
        case $1,$it in
        hybrid,*! | hybrid,/.berth/*) echo "$it" ;;
        hybrid,* | *,*! | *,/.berth/*) ;;
        *) echo "$it" ;;
        esac
    done | paste -sd' '
}

# verdict MODE [warnings]: in a few words, what has happened, and whether a warning was printed.
verdict() {
    local text status ranks lib odd
    text=$(cat)
    status=$(sed -nE 's/^status ([0-9]+)$/\1/p' <<<"$text")
    ranks=$(grep -oE '^(rank [0-9]+ of [0-9]+|ran) ' <<<"$text" | sort | paste -sd+ | tr -d ' ')
    lib=$(library <<<"$text")
    odd=$(strange "$1" <<<"$text")
    [[ ${2-} != warnings || $text != *": warning: "* ]] || printf 'a warning, and '
    case ${status:-0},$ranks in
    124,*) echo "hangs" ;;
    0,rank0of2+rank1of2 | 0,ran+ran) echo "$lib${odd:+ from $odd}" ;;
    *,*of1*) echo "worlds of one rank" ;;
    0,*) echo "no MPI" ;;
    *,) echo "refused: $text" ;;
    *) echo "status $status" ;;
    esac
}

# ran TITLE MODE EXPECTED COMMAND [warnings]: the row of a COMMAND with two ranks, whose verdict is
# EXPECTED, or `no: WORDS`. Open MPI dies now and then when a message comes before its world is
# there (open-mpi/ompi issue 12495, pull request 13559), in a container or not: what has died of
# that runs once more.
ran() { row "$1" "${3/#no: /\~^refused: .*}" "verdict $2 ${5-}" "again $4"; }
# shellcheck disable=SC2016 # for the shell that runs the rows
header='again() {
    local status=0
    "$@" >again.out 2>&1 || status=$?
    if grep -q "SIGSEGV\|Segmentation fault" again.out &&
    grep -q mca_pml_ob1_recv_frag_callback_match again.out; then
        "$@"
    else
        cat again.out
        return $status
    fi
}'
