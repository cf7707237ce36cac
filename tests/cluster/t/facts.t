#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a step with --mpi-bind found out about files serves the next one, until one of them
# changes: a step that looks anew leaves other facts on the node.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images mpich
image=/images/mpich.sif
# One of those that the host's MPICH needs.
library=$(on n1 root sh -c 'readlink -f /usr/lib/*/libhwloc.so.15')

# facts USER: a number that changes with the facts about files on n1.
facts() {
    on n1 root sh -c "cat /tmp/berth-\$(id -u $1)/facts/* 2>/dev/null | cksum"
}

# looked USER ARGUMENT...: how a step on n1 came to its end, and whether by looking.
looked() {
    local user=$1 out status before
    shift
    before=$(facts "$user")
    out=$(on login "$user" timeout -k 10 180 srun -v -w n1 -N1 -n2 --mpi=pmi2 \
        --container-image=$image \
        --mpi-bind=host "$@" 2>&1)
    status=$?
    case $out in
    *"the host's MPICH"*)
        if [[ $(facts "$user") == "$before" ]]; then echo "$status as before"; else echo \
            "$status looked"; fi
        ;;
    *) echo "$status: $out" ;;
    esac
}

ring=mpiring
on n1 root rm -rf /tmp/berth-2001/facts /tmp/berth-2002/facts

equal "the first step looks" "0 looked" "$(looked alice $ring)"
equal "the second one knows" "0 as before" "$(looked alice $ring)"
out=$(alice srun -v -w n1 -N1 -n2 --mpi=pmi2 --container-image=$image --mpi-bind=host $ring 2>&1)
version=$(sed -n "s/.*the host's MPICH \([0-9.]*\).*/\1/p" <<<"$out" | head -n1)
matches "and its ranks are on the host's MPI, in one world" \
    "rank 1 of 2 on n1 in mpich: MPICH Version:[[:space:]]*${version:-none}" "$out"
equal "another user has his own" "0 looked" "$(looked bob $ring)"
equal "another search path is another question" "0 looked" \
    "$(looked alice --container-env=LD_LIBRARY_PATH=/opt/other $ring)"

time=$(on n1 root stat -c %y "$library")
on n1 root touch "$library"
equal "an upgrade of the host's MPI is noticed" "0 looked" "$(looked alice $ring)"
equal "and known from then on" "0 as before" "$(looked alice $ring)"
on n1 root touch -d "$time" "$library"

alice srun -w n1 -N1 --container-image=$image sh -c 'cp /usr/bin/mpiring ./ring'
looked alice ./ring >/dev/null
equal "a program in a mount is known" "0 as before" "$(looked alice ./ring)"
alice sh -c 'cp ring new && mv new ring'
equal "and looked at again when it is replaced" "0 looked" "$(looked alice ./ring)"

# Another MPI library of the image goes before the one that the program is linked with.
# shellcheck disable=SC2016 # for the nodes
alice sh -c 'mkdir -p pre
    srun -w n1 -N1 --container-image=/images/mpich.sif --container-mounts=$HOME/pre:/pre \
    sh -c "cp -L /usr/lib/*/libmpich.so.12 /pre/"'
for variable in LD_PRELOAD=/pre/libmpich.so.12 LD_PRELOAD=libnothing.so; do
    try "with $variable the ranks are on the host's MPI, too" \
        "~rank 1 of 2 on n1 in mpich: MPICH Version:[[:space:]]*${version:-none}" -- \
        srun -w n1 -N1 -n2 --mpi=pmi2 --container-image=$image --mpi-bind=host \
        --container-mounts=/home/alice/pre:/pre --container-env="$variable" $ring
done

alice sh -c 'rm -rf more && mkdir more'
more=(--container-mounts=/home/alice/more:/opt/more sh -c true)
looked alice "${more[@]}" >/dev/null
alice sh -c 'cp pre/libmpich.so.12 more/'
matches "a library that appears in a mount is seen" "/opt/more/libmpich.so.12" \
    "$(alice srun -Q -w n1 -N1 -n1 --mpi=pmi2 --container-image=$image --mpi-bind=host \
    --container-explain=all "${more[@]}" 2>&1)"

# Facts are of files and not of a program: those of several stand beside each other.
looked alice sh -c 'true; true' one >/dev/null
equal "a program without MPI is known, whatever its words, and so is the one before" \
    "0 as before,0 as before,0 as before" \
    "$(looked alice sh -c 'true; true' one),$(looked alice sh -c 'true; true' two),$(looked alice \
    $ring)"

# shellcheck disable=SC2016 # for the node
on n1 root sh -c 'for f in /tmp/berth-2001/facts/*; do truncate -s -3 "$f"; done'
equal "a damaged file of facts is none" "0 looked" "$(looked alice $ring)"

# What the host sets for the libraries beside MPI comes along, also when it is made later.
informed=("grep -c 'UCX  *INFO'" \
    -- srun -Q -w n1 -n2 --mpi=pmi2 --mpi-bind=mpich --container-image=/images/mpich.sif mpiring)
try "UCX says nothing by itself" 0 "${informed[@]}"
on n1 root sh -c 'mkdir -p /etc/ucx; echo UCX_LOG_LEVEL=info >/etc/ucx/ucx.conf'
try "an ucx.conf of the host that appears is read" "~^[1-9]" "${informed[@]}"
try "... and the account of the step says so" "~set by: .*/etc/ucx/ucx.conf" -- \
    srun -Q -w n1 -n1 --mpi=pmi2 --mpi-bind=mpich --container-explain=all \
    --container-image=/images/mpich.sif mpiring
on n1 root rm -r /etc/ucx
try "... and no more when it has gone" 0 "${informed[@]}"

# The same of PMIx. Debian's file names a directory of the host, which is not the image's.
if has_pmix; then
    need_images openmpi
    parameters=$(on n1 root sh -c 'echo /usr/lib/*/pmix2/share/pmix-mca-params.conf')
    # How many processes tell what PMIx does. slurmstepd may be one.
    speakers=("grep -o '^\[n1:[0-9]*\]' | sort -u | grep -c ." \
        -- srun -Q -w n1 -n1 --mpi=pmix --mpi-bind=openmpi --container-image=/images/openmpi.sif \
        mpiring)
    try "PMIx says nothing by itself" 0 "${speakers[@]}"
    on n1 root sh -c "cp $parameters /root/ && echo ptl_base_verbose=5 >>$parameters"
    try "the host's parameters of PMIx reach slurmstepd and the rank" 2 "${speakers[@]}"
    on n1 root cp /root/pmix-mca-params.conf "$parameters"
    try "... and no more when they are what they were" 0 "${speakers[@]}"
fi

finish
