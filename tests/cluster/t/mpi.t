#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The image's own MPI over Slurm's process manager: MPICH with pmi2, Open MPI with pmix.
# Every rank knows its place, a token goes round, and ranks of one node talk through
# memory, which they cannot when each has a user namespace of its own.
#
# Debian 12's MPICH 4.0.2 hangs in MPI_Finalize in about half of all runs over more than
# one node: a rank that already waits for the others at the process manager answers no
# more over UCX, and one that still closes a connection spins. It does so without any
# container (its files unpacked on the nodes) and under `apptainer exec --sharens`; neither
# UCX_TLS, UCX_NET_DEVICES, UCX_TCP_PUT_ENABLE nor a barrier before it helps always. So
# over several nodes the ring decides, and a job that hangs after that is cancelled. Open
# MPI 4.1.4 does it too, over the PMIx of Slurm 22.05, in a quarter of the runs, likewise
# under `apptainer exec --sharens`.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images mpich openmpi a

# ring TITLE IMAGE SPREAD MAY-HANG ARGUMENTS...: the ring is printed, where SPREAD is the node of
# each rank.
is_printed() { [[ $(grep -E '^(rank|ring) ' "$work/ring" | sed 's/: .*//' | sort) == "$wanted" ]]; }
is_over() { is_printed || ! kill -0 "${pid[ring]}" 2>/dev/null; }
ring() {
    local node rank=0 wanted='' status=0
    for node in $3; do wanted+="rank $((rank++)) of $(wc -w <<<"$3") on $node in $2$nl"; done
    wanted+="ring of $rank passed"
    LIMIT=120 start ring alice srun "${@:5}"
    if (($4)) && wait_for 60 is_over && ! wait_for 2 bash -c "! kill -0 ${pid[ring]}" \
        2>/dev/null; then
        echo "# hangs in MPI_Finalize, as known: $1"
        on login alice scancel -s KILL -u alice
        wait "${pid[ring]}"
    else
        wait "${pid[ring]}" || status=$?
    fi
    seen=$(cat "$work/ring")
    if [[ $status == 0 ]] && is_printed; then
        result ok "$1"
    else
        result FAIL "$1" "status $status"$'\n'"expected: $wanted"$'\n'"$(tail -n 20 <<<"$seen")"
    fi
}

one="n1 n1 n1 n1"
two="n1 n1 n1 n1 n2 n2 n2 n2"

mpich="--mpi=pmi2 --container-image=/images/mpich.sif"
# shellcheck disable=SC2086
{
    ring "MPICH: 4 ranks on one node" mpich "$one" 0 -w n1 -N1 -n4 $mpich mpiring
    ring "MPICH: 2 x 4 ranks" mpich "$two" 1 -w n1,n2 -N2 -n8 --ntasks-per-node=4 $mpich mpiring
    ring "MPICH: two components are one MPI_COMM_WORLD" mpich "n1 n1 n2 n2" 1 \
        -w n1 -N1 -n2 $mpich mpiring : -w n2 -N1 -n2 $mpich mpiring
    UCX=--export=ALL,UCX_LOG_LEVEL=info
    ring "MPICH: it tells its transports" mpich "$one" 0 -w n1 -N1 -n4 $UCX $mpich mpiring
}
says "MPICH: ... memory between the ranks of a node, and no TCP" \
    'ep_cfg\[[0-9]+\]: tag\((sysv|posix|cma)/memory' 'ep_cfg\[[0-9]+\].*tcp/'
says "MPICH: ... and one rank may read the other's (CMA)" 'ep_cfg.*cma/memory'

openmpi="--mpi=pmix --container-image=/images/openmpi.sif"
talk=--export=ALL,OMPI_MCA_btl_base_verbose=100,OMPI_MCA_pml=ob1

# singletons TITLE COUNT PATTERN ARGS...: how many lines of berth there are, and what they say.
singletons() {
    try "without --mpi-bind: $1" "$2" "grep -c '^berth: '" -- srun "${@:4}"
    seen=$output
    [[ -z $3 ]] || says "... which says what to type" \
        "^berth: n1: warning: image '[^']*.sif': if the program uses MPI: $3"
}
alone='the image.s MPICH 4.0.2 uses PMI and the step has --mpi=none, so each of the [24] tasks would be rank 0 of 1; use srun --mpi=pmi2, and --mpi-bind for the host.s library; or --mpi-bind=off if it does not$'
quick="timeout 1 mpiring; true"
try "without --mpi-bind: --container-explain forecasts it" \
    "~MPI: left alone .no --mpi-bind.${nl} +warning: if the program uses MPI: the image's MPICH 4.0.2 uses PMI and the step has --mpi=none" -- \
    srun -n2 --mpi=none --container-image=/images/mpich.sif --container-explain mpiring
singletons "one line for a step of two nodes" 1 "$alone" \
    -w n1,n2 -N2 -n4 --mpi=none --container-image=/images/mpich.sif sh -c "$quick"
singletons "one line for each of two components" 2 "$alone" -w n1 --mpi=none \
    --container-image=/images/mpich.sif \
    sh -c "$quick" : -w n2 --container-image=/images/mpich.sif sh -c "$quick"
singletons "the second component has the MPI" 1 "" -w n1 --mpi=none \
    --container-image=/images/a.sif \
    true : -w n2 --container-image=/images/mpich.sif sh -c "$quick"
says "... and is named" \
    "^berth: n2: warning: image '/images/mpich.sif': if the program uses MPI: $alone"
on login alice ln -sfn /images/mpich.sif $'/home/alice/m\e[31m.sif' || exit 1
singletons "control characters of a name are escaped" 1 "$alone" -w n1 -n2 --mpi=none \
    --container-image=$'/home/alice/m\e[31m.sif' sh -c "$quick"
says "... all of them" "image '/home/alice/m.x1b\[31m.sif': " $'\e'
on login alice rm $'/home/alice/m\e[31m.sif'
try "no het step is sent to pmi2" \
    '~use srun --mpi=pmi2, which for several components needs a heterogeneous job .*, and --mpi-bind for' -- \
    salloc -Q -w n1,n2 -N2 -n2 srun -N1 -n1 --mpi=none --container-image=/images/mpich.sif sh -c \
    "$quick" : \
    -N1 -n1 --container-image=/images/mpich.sif sh -c "$quick"

# An MPI that no scan finds, in a place that no word names. The words are for shells in the image.
# shellcheck disable=SC2016
{
alice srun -n1 --container-image=/images/mpich.sif sh -c \
    'mkdir -p spack/deep && cd spack/deep && cp /usr/bin/mpiring . &&
    ldd mpiring | awk "/=> \\//{ print \$3 }" | grep -vE "/lib(c|m|dl|pthread|rt)\\.so" | xargs -I{} cp -L {} .'
spack='D=/hom; LD_LIBRARY_PATH=${D}e/alice/spack/deep timeout 1 ${D}e/alice/spack/deep/mpiring; true'
}
site login n1 <<<'rules: [{default: {mpi-bind: auto}}]'
for mode in --mpi-bind=off --mpi-bind --mpi-bind=hybrid -v; do
    seen=$(alice srun -w n1 -n2 --mpi=none --container-image=/images/a.sif "$mode" sh -c "$spack" \
        2>&1 </dev/null)
    case $mode in
    *off) equal "$mode: nobody watches" "" "$(grep '^berth: ' <<<"$seen")" ;;
    *) says "$mode: an MPI that is not found is watched" \
        "^berth: n1: warning: image '[^']*.sif': if the program uses MPI: ${alone/, and --mpi-bind for the host.s library/}" ;;
    esac
    [[ $mode == *hybrid || $mode == *off ]] || says "$mode: and a line says that it is not" \
        "note: .* is not linked with MPI, and no MPI library was found"
done
site login n1 </dev/null
singletons "none for one task" 0 "" -n1 --mpi=none --container-image=/images/mpich.sif sh -c \
    "$quick"
singletons "none with --mpi-bind=off" 0 "" -n2 --mpi=none --mpi-bind=off \
    --container-image=/images/mpich.sif \
    sh -c "$quick"
# shellcheck disable=SC2086
singletons "none where the MPI is right" 0 "" -n2 $mpich mpiring
singletons "none for an mpirun" 0 "" -w n1 -n2 --mpi=none --container-image=/images/openmpi.sif \
    sh -c "ompi_info >/dev/null; [ \$SLURM_PROCID = 0 ] || exit 0; unset \${!SLURM*}; mpirun --oversubscribe -n 2 true"
singletons "Open MPI: one line" 1 \
    "the image.s Open MPI 4.1.4 uses PMIx and .*; use srun --mpi=pmix, and" \
    -w n1 -n2 --mpi=pmi2 --container-image=/images/openmpi.sif sh -c "$quick"

if has_pmix; then
    # shellcheck disable=SC2086
    {
        ring "Open MPI: 2 x 4 ranks" openmpi "$two" 1 -w n1,n2 -N2 -n8 --ntasks-per-node=4 \
            $openmpi mpiring
        ring "Open MPI: two components are one MPI_COMM_WORLD" openmpi "n1 n1 n2 n2" 1 \
            -w n1 -N1 -n2 $openmpi mpiring : -w n2 -N1 -n2 $openmpi mpiring
        ring "Open MPI: 4 ranks on one node" openmpi "$one" 0 -w n1 -N1 -n4 $openmpi mpiring
    }
    says "Open MPI: ... which read each other's memory (CMA) without a complaint" '^ring of' \
        'different user namespaces|WARNING'
    # shellcheck disable=SC2086
    ring "Open MPI: it tells its transports" openmpi "$one" 0 -w n1 -N1 -n4 $talk $openmpi mpiring
    says "Open MPI: ... memory between the ranks of a node, and no TCP" \
        'Using vader btl for send' 'Using tcp btl for send'
    pmix=(srun -w n1 -n1 --mpi=pmix --container-image=/images/a.sif)
    # shellcheck disable=SC2016
    server='[ -w "$PMIX_SERVER_TMPDIR" ] && echo here || echo no'
    try "the directory of the PMIx server" here -- "${pmix[@]}" sh -c "$server"
    try "... with --mpi-bind" here -- "${pmix[@]}" --mpi-bind=hybrid sh -c "$server"
    try "... not in a closed container" no -- "${pmix[@]}" --container-args=--contain sh -c "$server"
    on n1 alice mkdir -m 700 /home/alice/named
    try "... and no other that the user names" no -- env PMIX_SERVER_TMPDIR=/home/alice/named \
        srun -w n1 -n1 --mpi=none -D / --container-image=/images/a.sif --no-container-mount-home sh -c "$server"
    on n1 alice rmdir /home/alice/named
else
    result skip "Open MPI over PMIx" "this Slurm has no PMIx"
fi

finish
