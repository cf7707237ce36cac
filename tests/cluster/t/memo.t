#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a step with --mpi-bind found out serves the next one, until something changes. With
# -v it says which: "(as found before)".

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images mpich
image=/images/mpich.sif
# One of those that the host's MPICH needs.
library=$(on n1 root sh -c 'readlink -f /usr/lib/*/libhwloc.so.15')

# seen USER ARGUMENT...: how a step on n1 came to its end, and whether by looking.
seen() {
    local user=$1 out status
    shift
    out=$(on login "$user" timeout -k 10 180 srun -v -w n1 -N1 -n2 --mpi=pmi2 --container-image=$image \
        --mpi-bind=host "$@" 2>&1)
    status=$?
    case $out in
    *"(as found before)"*) echo "$status as before" ;;
    *"the host's MPICH"*) echo "$status looked" ;;
    *) echo "$status: $out" ;;
    esac
}

ring=mpiring
on n1 root rm -rf /tmp/berth-2001/memo /tmp/berth-2002/memo

equal "the first step looks" "0 looked" "$(seen alice $ring)"
equal "the second one knows" "0 as before" "$(seen alice $ring)"
out=$(alice srun -v -w n1 -N1 -n2 --mpi=pmi2 --container-image=$image --mpi-bind=host $ring 2>&1)
version=$(sed -n "s/.*the host's MPICH \([0-9.]*\).*as found before.*/\1/p" <<<"$out")
matches "and its ranks are on the host's MPI, in one world" \
    "rank 1 of 2 on n1 in mpich: MPICH Version:[[:space:]]*${version:-none}" "$out"
equal "another user has his own" "0 looked" "$(seen bob $ring)"
equal "another search path is another question" "0 looked" \
    "$(seen alice --container-env=LD_LIBRARY_PATH=/opt/other $ring)"

time=$(on n1 root stat -c %y "$library")
on n1 root touch "$library"
equal "an upgrade of the host's MPI is noticed" "0 looked" "$(seen alice $ring)"
equal "and known from then on" "0 as before" "$(seen alice $ring)"
on n1 root touch -d "$time" "$library"

alice srun -w n1 -N1 --container-image=$image sh -c 'cp /usr/bin/mpiring ./ring'
seen alice ./ring >/dev/null
equal "a program in a mount is known" "0 as before" "$(seen alice ./ring)"
alice sh -c 'cp ring new && mv new ring'
equal "and looked at again when it is replaced" "0 looked" "$(seen alice ./ring)"

# Another MPI library of the image goes before the one that the program is linked with.
# shellcheck disable=SC2016 # for the nodes
alice sh -c 'mkdir -p pre; srun -w n1 -N1 --container-image=/images/mpich.sif --container-mounts=$HOME/pre:/pre \
    sh -c "cp -L /usr/lib/*/libmpich.so.12 /pre/"'
for variable in LD_PRELOAD=/pre/libmpich.so.12 LD_PRELOAD=libnothing.so; do
    matches "with $variable the ranks are on the host's MPI, too" \
        "rank 1 of 2 on n1 in mpich: MPICH Version:[[:space:]]*${version:-none}" \
        "$(alice srun -w n1 -N1 -n2 --mpi=pmi2 --container-image=$image --mpi-bind=host \
            --container-mounts=/home/alice/pre:/pre --container-env="$variable" $ring 2>&1)"
done

alice sh -c 'mkdir -p more'
seen alice --container-mounts=/home/alice/more:/opt/more sh -c true >/dev/null
equal "where mounts are searched for MPI nothing is taken for known" "0 looked" \
    "$(seen alice --container-mounts=/home/alice/more:/opt/more sh -c true)"

# A script and a Python may load what their words say.
alice sh -c 'echo one >one; echo two >two'
equal "a program without MPI: other words are another question" "0 looked,0 as before,0 looked,0 as before" \
    "$(for of in one one two two; do seen alice sh -c 'true; true' $of; done | paste -sd,)"
alice sh -c 'echo more >>two'
equal "so is a file among them that was changed" "0 looked" "$(seen alice sh -c 'true; true' two)"

# shellcheck disable=SC2016 # for the node
on n1 root sh -c 'for f in /tmp/berth-2001/memo/*; do truncate -s -3 "$f"; done'
equal "a damaged memo is none" "0 looked" "$(seen alice $ring)"
matches "a command that is not in the image is reported as ever" \
    "command '/hello' is not in the image" \
    "$(alice srun -w n1 -N1 -n1 --mpi=pmi2 --container-image=$image --mpi-bind /hello 2>&1)"
alice sh -c 'printf "#!/no/such/interpreter\n" >noint; chmod +x noint'
matches "... and so is a script whose interpreter is not there" \
    "command './noint' is there, but not the interpreter" \
    "$(alice srun -w n1 -N1 -n1 --mpi=pmi2 --container-image=$image --mpi-bind ./noint 2>&1)"

# What the host sets for the libraries beside MPI comes along, also when it is made later.
configured() {
    alice srun -Q -w n1 -n2 --mpi=pmi2 --mpi-bind=mpich --container-image=/images/mpich.sif mpiring 2>&1 |
        grep -c 'UCX  *INFO'
}
equal "UCX says nothing by itself" 0 "$(configured)"
on n1 root sh -c 'mkdir -p /etc/ucx; echo UCX_LOG_LEVEL=info >/etc/ucx/ucx.conf'
matches "an ucx.conf of the host that appears is read" "^[1-9]" "$(configured)"
matches "... and the account of the step says so" "set by +/etc/ucx/ucx.conf" \
    "$(alice srun -Q -w n1 -n1 --mpi=pmi2 --mpi-bind=mpich --container-explain \
        --container-image=/images/mpich.sif mpiring 2>&1)"
on n1 root rm -r /etc/ucx
equal "... and no more when it has gone" 0 "$(configured)"

# The same of PMIx. Debian's file names a directory of the host, which is not the image's.
if alice srun --mpi=list 2>&1 | grep -q pmix; then
    need_images openmpi
    parameters=$(on n1 root sh -c 'echo /usr/lib/*/pmix2/share/pmix-mca-params.conf')
    # speakers: how many processes tell what PMIx does. slurmstepd may be one.
    speakers() {
        alice srun -Q -w n1 -n1 --mpi=pmix --mpi-bind=openmpi --container-image=/images/openmpi.sif mpiring 2>&1 |
            grep -o '^\[n1:[0-9]*\]' | sort -u | grep -c .
    }
    equal "PMIx says nothing by itself" 0 "$(speakers)"
    on n1 root sh -c "cp $parameters /root/ && echo ptl_base_verbose=5 >>$parameters"
    equal "the host's parameters of PMIx reach slurmstepd and the rank" 2 "$(speakers)"
    on n1 root cp /root/pmix-mca-params.conf "$parameters"
    equal "... and no more when they are what they were" 0 "$(speakers)"
fi

finish
