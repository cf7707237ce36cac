#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Options by environment, and which of several values wins.
# shellcheck source=tests/spank/lib.sh
. "${srcdir:-.}/tests/spank/lib.sh"

A=--container-image=T/a
B=--container-image=T/b
I=BERTH_CONTAINER_IMAGE

expect 'a variable is an option' 0 "0 $A: ./x" $I=a srun ./x
expect 'every option has one' 0 \
    "0 $A --container-mounts=/d:/d:rw --container-workdir=/w --no-container-mount-home
        --container-writable --container-entrypoint --container-env=X --container-args=-a
        --mpi-bind=hybrid: ./x" \
    $I=a BERTH_CONTAINER_MOUNTS=/d BERTH_CONTAINER_WORKDIR=/w \
    BERTH_NO_CONTAINER_MOUNT_HOME=yes BERTH_CONTAINER_WRITABLE=yes \
    BERTH_CONTAINER_ENTRYPOINT=yes BERTH_CONTAINER_ENV=X BERTH_CONTAINER_ARGS=-a \
    BERTH_MPI_BIND=hybrid srun ./x
expect 'other variables without an image are for nobody' 0 '0 host: ./x' \
    BERTH_CONTAINER_MOUNTS=/d srun ./x
expect 'and wait for one' 0 "0 $A --container-mounts=/d:/d:rw: ./x" \
    BERTH_CONTAINER_MOUNTS=/d srun --container-image=a ./x
expect 'the command line goes over it' 0 "0 $B: ./x" $I=a srun --container-image=b ./x
expect 'none on the command line cancels it' 0 '0 host: ./x' \
    $I=a BERTH_CONTAINER_MOUNTS=/d srun --container-image=none ./x
expect 'lists add up, the command line last' 0 \
    "0 $A --container-mounts=/d:/d:rw --container-mounts=/e:/e:rw: ./x" \
    $I=a BERTH_CONTAINER_MOUNTS=/d srun --container-mounts=/e ./x
expect 'under --export=NONE' 0 "0 $A: ./x" $I=a srun --export=NONE ./x
expect 'a component can have its own' 0 "0 $A: ./x
1 $B: ./y
2 host: ./z" \
    srun --export=ALL,$I=a ./x : --export=NONE,$I=b ./y : ./z
expect 'its own goes over the common one' 0 "0 $A: ./x
1 $B: ./y
2 host: ./z" \
    $I=a srun ./x : --export=$I=b ./y : --export=$I=none ./z
expect 'components: one that fails ends the others' 0 \
    "published 0: $A; 1:, kill on bad exit
0 $A: ./x
1 host: ./y" \
    FAKE_SHOW=1 srun --export=ALL,$I=a ./x : ./y
expect 'the same for a common one' 0 \
    "published *: $A, kill on bad exit
0 $A: ./x
1 $A: ./y" \
    FAKE_SHOW=1 $I=a srun ./x : ./y

# Jobs
expect 'sbatch makes it the default of the job' 0 "0 $A: ./x" \
    $I=a FAKE_SCRIPT="srun ./x" sbatch job.sh
expect 'also under --export=NONE' 0 "0 $A: ./x" \
    $I=a FAKE_SCRIPT="srun ./x" sbatch --export=NONE job.sh
expect 'and takes it away, so that its own option goes over it' 0 "0 $B: ./x" \
    $I=a FAKE_SCRIPT="srun ./x" sbatch --container-image=b job.sh
expect 'lists are not added twice' 0 \
    "0 $A --container-mounts=/d:/d:rw --container-mounts=/e:/e:rw: ./x" \
    $I=a BERTH_CONTAINER_MOUNTS=/d FAKE_SCRIPT="srun ./x" \
    sbatch --container-mounts=/e job.sh
expect 'salloc is like sbatch' 0 "0 $A: ./x" $I=a salloc srun ./x
expect 'in the job a variable goes over the default of the job' 0 "0 $B: ./x
0 $A: ./y" \
    FAKE_SCRIPT="$I=b srun ./x && srun ./y" sbatch --container-image=a job.sh
expect 'none in a variable cancels the default of the job' 0 '0 host: ./x' \
    FAKE_SCRIPT="$I=none srun ./x" sbatch --container-image=a job.sh
expect 'other options of sbatch with an image by environment' 0 \
    "0 $A --container-workdir=/w: ./x" \
    $I=a FAKE_SCRIPT="srun ./x" sbatch --container-workdir=/w job.sh

# Mistakes
expect 'a wrong value names the variable' 1 \
    "srun: error: berth: BERTH_CONTAINER_WORKDIR: expected a directory in the image, from /, got
        'w'" \
    BERTH_CONTAINER_WORKDIR=w srun --container-image=a ./x

expect 'an image that is an empty variable is an error' 1 \
    "srun: error: berth: $I: the value is empty; give one, or leave the option out" \
    $I= srun ./x
expect 'so it is in --export' 1 \
    "srun: error: berth: $I: the value is empty; give one, or leave the option out" \
    srun --export=ALL,$I= ./x
expect 'a name that is nearly right is a warning' 0 \
    "srun: berth: warning: BERTH_CONTAINER_IMGE is set, which berth does not read; did you mean $I?
0 host: ./x" \
    BERTH_CONTAINER_IMGE=a srun ./x
expect 'one of pyxis is read' 0 '0 --container-image=T/a --no-container-mount-home: ./x' \
    PYXIS_CONTAINER_IMAGE=a PYXIS_CONTAINER_MOUNT_HOME=0 srun ./x
expect 'if nothing else names an image' 0 '0 --container-image=T/b: ./x' \
    PYXIS_CONTAINER_IMAGE=a $I=b srun ./x
expect 'the default of a job, for one' 0 '0 --container-image=T/b: ./x' \
    PYXIS_CONTAINER_IMAGE=a FAKE_SCRIPT="srun ./x" sbatch --container-image=b job.sh
expect 'or the component, whose mounts are then all that there are' 0 \
    '0 --container-image=T/b --container-mounts=/c:/c:rw: ./x' \
    PYXIS_CONTAINER_IMAGE=a PYXIS_CONTAINER_MOUNTS=/d srun --container-image=b \
    --container-mounts=/c ./x
expect 'in a job its srun reads it' 0 '0 --container-image=T/a: ./x' \
    PYXIS_CONTAINER_IMAGE=a FAKE_SCRIPT="srun ./x" sbatch job.sh
expect 'without an image the others ask for nothing' 0 '0 host: ./x' \
    PYXIS_CONTAINER_MOUNTS=/d srun ./x
expect 'an error has its name' 1 \
    "srun: error: berth: PYXIS_CONTAINER_WORKDIR: expected a directory in the image, from /, got
        'w'" \
    PYXIS_CONTAINER_WORKDIR=w srun --container-image=a ./x
expect 'beside pyxis it is not ours' 0 '0 host: ./x' \
    FAKE_WORDS=option_prefix=site- PYXIS_CONTAINER_IMAGE=a srun ./x
site 'images: {roots: [/usr]}'
expect 'the site decides about it, too' 1 \
    "srun: error: berth: image 'T/a': this site does not allow it; it allows /usr
        (T/berth.yaml:1)" \
    "FAKE_WORDS=$SITE" PYXIS_CONTAINER_IMAGE=a srun ./x

finish
