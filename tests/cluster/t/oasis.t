#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A coupler that models really use: two toy models, each in an image of its own, exchange fields
# through OASIS3-MCT, and every rank checks what it gets. doc/coupled.md has them, and manual.t
# runs that; here one model is a step late, which the other one notices.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

if ! has_pmix; then
    result skip "two models and a coupler" "this Slurm has no PMIx, which Open MPI needs"
    finish
    exit
fi
need_images oasisatm oasisocn
on login alice sh -c 'rm -rf oasis && mkdir oasis && cat >oasis/namcouple' \
    <"$here/../oasis/namcouple"
# More ranks than cores: Open MPI waits by asking without end.
options="--mpi-bind=host --container-env=OMPI_MCA_mpi_yield_when_idle=1"
printf '%s\n' "0-2 $options --container-image=/images/oasisatm.sif toyatm late" \
    "3-4 $options --container-image=/images/oasisocn.sif toyocn" |
    on login alice sh -c 'cat >oasis/programs'
LIMIT=60 try "a field of the step before is noticed, and ends the step" \
    '~toyocn got a wrong field: step 0, point [0-9]+, [0-9]+: 8[0-9.]+ and not 9.*status ([1-9]|1[0-13-9]|1[0-13-9].)$' -- \
    srun --chdir=/home/alice/oasis -w n1,n2 -N2 -n5 -m cyclic --mpi=pmix --multi-prog \
    /home/alice/oasis/programs
finish
