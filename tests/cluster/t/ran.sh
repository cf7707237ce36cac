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

rows=()

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

# shellcheck disable=SC2016 # for the shell that runs them
# run_rows NODES: all of `rows`, each by the srun that `step_of ROW` prints, in one allocation
# of four tasks; what row I says is in the file row.I. Open MPI dies now and then when a
# message comes before its world is there (open-mpi/ompi issue 12495, pull request 13559), in a
# container or not: what has died of that runs once more.
run_rows() {
    local i
    {
        echo '#!/bin/bash'
        echo 'row() { { "${@:2}"; echo "status $?"; } </dev/null >"row.$1" 2>&1; }'
        echo 'early() { grep -q "SIGSEGV\|Segmentation fault" "row.$1" &&
            grep -q mca_pml_ob1_recv_frag_callback_match "row.$1"; }'
        for i in "${!rows[@]}"; do
            echo "do_$i() { $(step_of "${rows[i]}"); }"
            echo "row $i do_$i; ! early $i || row $i do_$i"
        done
    } | script rows.sh
    LIMIT=$((120 + 8 * ${#rows[@]})) alice salloc -Q -N"$1" -n4 ./rows.sh
}

# judge_row I MODE EXPECTED TITLE: what row I said is EXPECTED, a verdict in MODE or `no: WORDS`.
# With `warnings` a warning counts.
judge_row() {
    local text seen
    text=$(on login alice cat "row.$1" 2>&1)
    seen=$(verdict "$2" <<<"$text")
    [[ -z ${warnings-} || $text != *": warning: "* ]] || seen+=", and a warning"
    if [[ $seen == refused && $3 == "no: "* && $text =~ ${3#no: } || $seen == "$3" ]]; then
        result ok "$4"
    else
        result FAIL "$4" "seen: $seen"$'\n'"$(step_of "${rows[$1]}")"$'\n'"$(grep -vE \
            '^-+$|Sorry|help|find-available' <<<"$text" | head -n 12 | cut -c1-300)"
    fi
}
