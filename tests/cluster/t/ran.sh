# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What ranks of the programs of tests/cluster/mpi have told, for the tests that ask which MPI
# library really runs.

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

# verdict MODE: in a few words, what has happened.
verdict() {
    local text status ranks lib odd
    text=$(cat)
    status=$(sed -nE 's/^status ([0-9]+)$/\1/p' <<<"$text")
    ranks=$(grep -oE '^(rank [0-9]+ of [0-9]+|ran) ' <<<"$text" | sort | paste -sd+ | tr -d ' ')
    lib=$(library <<<"$text")
    odd=$(strange "$1" <<<"$text")
    case $status,$ranks in
    124,*) echo "hangs" ;;
    0,rank0of2+rank1of2 | 0,ran+ran) echo "$lib${odd:+ from $odd}" ;;
    *,*of1*) echo "worlds of one rank" ;;
    0,*) echo "no MPI" ;;
    *,) echo "refused" ;;
    *) echo "status $status" ;;
    esac
}
