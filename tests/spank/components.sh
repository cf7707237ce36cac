#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each component gets the options that it asked for, and none of another component.
# shellcheck source=tests/spank/lib.sh
. "${srcdir:-.}/tests/spank/lib.sh"

A=--container-image=T/a
B=--container-image=T/b
C=--container-image=T/c

# One component.
expect 'a step gets its image' 0 \
    "0 $A: ./x 1 -n" \
    srun --container-image=a -n2 ./x 1 -n
expect 'no option, no container, nothing published' 0 \
    'published nothing
0 host: ./x' \
    FAKE_SHOW=1 srun -n2 ./x
expect 'none is no container, and nothing is published' 0 \
    'published nothing
0 host: ./x' \
    FAKE_SHOW=1 srun --container-image=none ./x
expect 'one component is announced for all' 0 \
    "published *: $A
0 $A: ./x" \
    FAKE_SHOW=1 srun --container-image=a ./x
expect 'every option arrives' 0 \
    "0 $A --container-mounts=/d:/d:rw --container-mounts=T/e:/f:ro --container-workdir=/w
        --no-container-mount-home --container-writable --container-entrypoint --container-env=X=1
        --container-env=Y --container-args=--nv: ./x" \
    srun --container-image=a --container-mounts=/d,e:/f:ro --container-workdir=/w \
    --no-container-mount-home --container-writable --container-entrypoint \
    --container-env=X=1,Y --container-args=--nv ./x
expect 'repeated lists accumulate' 0 \
    "0 $A --container-mounts=/d:/d:rw --container-mounts=/e:/e:rw --container-mounts=/f:/f:rw
        --container-env=X --container-env=Y --container-args=-a --container-args=-b: ./x" \
    srun --container-mounts=/d --container-image=a --container-mounts=/e,/f \
    --container-env=X --container-args=-a --container-env=Y --container-args=-b ./x
expect 'getopt knows our options by a beginning of their names' 0 \
    "0 $A --container-mounts=/d:/d:rw: ./x" \
    srun --container-im a --container-mounts /d ./x

# A het job from the command line: each component has its own job.
expect 'two components have an image each' 0 \
    "published 0: $A; 1: $B, kill on bad exit
0 $A: ./x 1
1 $B: ./y 2" \
    FAKE_SHOW=1 srun --container-image=a ./x 1 : --container-image=b ./y 2
expect 'equal components are announced as one' 0 \
    "published *: $A, kill on bad exit
0 $A: ./x
1 $A: ./y" \
    FAKE_SHOW=1 srun --container-image=a ./x : --container-image=a ./y
expect 'an option of the first component stays there' 0 \
    "0 $A: ./x
1 host: ./y
2 host: ./z" \
    srun --container-image=a ./x : ./y : -n2 ./z
expect 'an option of the second component stays there' 0 \
    "0 host: ./x
1 $B: ./y
2 host: ./z" \
    srun ./x : --container-image=b ./y : ./z
expect 'three components have an image each' 0 \
    "0 $A --container-mounts=/d:/d:rw: ./x
1 $B --container-writable: ./y
2 $C --container-workdir=/w: ./z" \
    srun --container-image=a --container-mounts=/d ./x : \
    --container-image=b --container-writable ./y : \
    --container-workdir=/w --container-image=c ./z
expect 'none in one component of three' 0 \
    "0 $A: ./x
1 host: ./y
2 $C: ./z" \
    srun --container-image=a ./x : --container-image=none ./y : --container-image=c ./z
expect 'lists accumulate in their own component only' 0 \
    "0 $A --container-mounts=/d:/d:rw --container-mounts=/e:/e:rw: ./x
1 $B --container-mounts=/f:/f:rw: ./y" \
    srun --container-image=a --container-mounts=/d --container-mounts=/e ./x : \
    --container-image=b --container-mounts=/f ./y
expect 'a flag of one component is not one of the other' 0 \
    "0 $A --container-mount-home --container-writable: ./x
1 $A --no-container-mount-home --container-entrypoint: ./y" \
    srun --container-image=a --container-mount-home --container-writable ./x : \
    --container-image=a --no-container-mount-home --container-entrypoint ./y
expect 'a component without a command takes the next one and keeps its options' 0 \
    "0 $A: ./y
1 $B: ./y" \
    srun --container-image=a : --container-image=b ./y
expect 'every task of a component gets the same' 0 \
    "0 $A: ./x
0 $A: ./x
1 $B: ./y
1 $B: ./y" \
    FAKE_TASKS=2 srun --container-image=a ./x : --container-image=b ./y
expect 'a het job under --export=NONE' 0 \
    "0 $A: ./x
1 $B: ./y" \
    srun --export=NONE --container-image=a ./x : --export=NONE --container-image=b ./y

# When one component cannot start, the others must not wait for it.
expect 'two components on the host are not killed on a bad exit' 0 \
    'published nothing
0 host: ./x
1 host: ./y' \
    FAKE_SHOW=1 srun ./x : ./y
expect 'one component with MPI is killed on a bad exit' 0 \
    "published *: $A --mpi-bind=auto, kill on bad exit
0 $A --mpi-bind=auto: ./x" \
    FAKE_SHOW=1 srun --container-image=a --mpi-bind ./x
expect 'so is one by the environment' 0 \
    "published *: $A --mpi-bind=host, kill on bad exit
0 $A --mpi-bind=host: ./x" \
    BERTH_MPI_BIND=host FAKE_SHOW=1 srun --container-image=a ./x
expect 'so is one by a fabric' 0 \
    "published *: $A --container-libs=ucx, kill on bad exit
0 $A --mpi-bind=hybrid --container-libs=ucx: ./x" \
    FAKE_SHOW=1 srun --container-image=a --container-libs=ucx ./x
expect 'but not without it' 0 \
    "published *: $A --container-libs=none
0 $A --container-libs=none: ./x" \
    FAKE_SHOW=1 srun --container-image=a --container-libs=none ./x
site 'rules: [{default: {container-libs: auto}}]'
expect 'by one that the site requires' 0 \
    "published *: $A, kill on bad exit
0 $A --mpi-bind=hybrid --container-libs=auto site=mpi-bind: ./x" \
    FAKE_SHOW=1 FAKE_WORDS="$SITE" srun --container-image=a ./x
site 'rules: [{default: {mpi-bind: auto}}]'
expect 'by a mode that the site sets' 0 \
    "published *: $A, kill on bad exit
0 $A --mpi-bind=auto site=mpi-bind: ./x" \
    FAKE_SHOW=1 FAKE_WORDS="$SITE" srun --container-image=a ./x
expect 'so without the network of the host, which is not its MPI' 0 \
    "published *: $A --container-libs=none, kill on bad exit
0 $A --mpi-bind=auto --container-libs=none: ./x" \
    FAKE_SHOW=1 FAKE_WORDS="$SITE" srun --container-image=a --container-libs=none ./x
expect 'but not if the user declines it' 0 \
    "published *: $A --mpi-bind=off
0 $A --mpi-bind=off: ./x" \
    FAKE_SHOW=1 FAKE_WORDS="$SITE" srun --container-image=a --mpi-bind=off ./x
site 'rules: [{partition: gpu, default: {mpi-bind: host}}]'
expect 'by a mode of some partition' 0 \
    "published *: $A, kill on bad exit
0 $A: ./x" \
    FAKE_SHOW=1 FAKE_WORDS="$SITE" srun --container-image=a ./x
site 'rules: [{account: x, force: {container-libs: auto}}]'
expect 'by a rule, whatever the user says' 0 \
    "published *: $A --mpi-bind=off, kill on bad exit
0 $A --mpi-bind=off: ./x" \
    FAKE_SHOW=1 FAKE_WORDS="$SITE" srun --container-image=a --mpi-bind=off ./x
expect 'of a step with an image only' 0 'published nothing
0 host: ./x' \
    FAKE_SHOW=1 FAKE_WORDS="$SITE" srun ./x
expect 'a component that lacks an image, and its program on the host' 0 \
    "berth: n1: component 0 has no image and runs on the host, which has no command 'gone'; give it
        --site-container-image=IMAGE, too
0 host: gone
1 --container-image=T/b: ./y" \
    FAKE_WORDS=option_prefix=site- srun gone : --site-container-image=b ./y
expect 'a component on the host, with its program there' 0 '0 host: cat
1 --container-image=T/b: ./y' srun cat : --container-image=b ./y
expect '--container-explain for all components, of which one is on the host' 0 \
    '0 --container-explain=text: ./x
1 --container-image=T/b --container-explain=text: ./y' \
    srun --container-explain ./x : --container-image=b --container-explain ./y
expect 'the same for the last one, with --container-image=none' 0 \
    '0 --container-image=T/b --container-explain=text: ./x
1 --container-image=none --container-explain=text: ./y' \
    srun --container-image=b --container-explain ./x : --container-image=none --container-explain \
    ./y
expect 'the JSON of several components is one array, in their order' 0 '[
  {
    "component": 0
  },
  {
    "component": 1
  }
]' env FAKE_PRINTS='1: {
0: {
1:   "component": 1
0:   "component": 0
0: }
1: }' srun --container-image=b --container-explain=json ./x : --container-image=c ./y
expect 'what is not of a component is printed as it is' 0 '0: {
and more' env FAKE_PRINTS='0: {
and more' srun --container-image=b --container-explain=json ./x : --container-image=c ./y
expect 'one component has one object' 0 '0: {' \
    env FAKE_PRINTS='0: {' srun --container-image=b --container-explain=json ./x
expect 'text of several components is printed as it is' 0 '0: component 0' \
    env FAKE_PRINTS='0: component 0' \
    srun --container-image=b --container-explain ./x : --container-image=c ./y
expect '--container-explain for components on the host' 1 \
    'srun: error: berth: --container-explain: it needs an image; add --container-image=IMAGE' \
    srun --container-explain ./x : --container-explain ./y
expect 'another option of a component on the host' 1 \
    'srun: error: berth: --container-writable: it needs an image; add --container-image=IMAGE' \
    srun --container-explain --container-writable ./x : --container-image=b --container-explain ./y
expect 'one with an mpirun in each task is not killed on a bad exit' 0 \
    "published *: $A --mpi-bind=local-each
0 $A --mpi-bind=local-each: ./x" \
    FAKE_SHOW=1 srun --container-image=a --mpi-bind=local-each ./x
expect 'the user decides on a bad exit' 0 \
    "published 0: $A; 1:
0 $A: ./x
1 host: ./y" \
    SLURM_KILL_BAD_EXIT=0 FAKE_SHOW=1 srun --container-image=a ./x : ./y

# Het groups of a het job.
het_job='SLURM_HET_SIZE=3 SLURM_JOB_ID=100 SLURM_JOB_ID_HET_GROUP_0=100
    SLURM_JOB_ID_HET_GROUP_1=101 SLURM_JOB_ID_HET_GROUP_2=102'
# shellcheck disable=SC2086 # a list
{
groups="SLURM_BERTH_JOB=1;0:;1:;2:image=$T/a&mpi-bind=hybrid;."
expect 'a group whose default has --mpi-bind is killed on a bad exit' 0 \
    "published *: $A --mpi-bind=hybrid, kill on bad exit
2 $A --mpi-bind=hybrid: ./x" \
    FAKE_SHOW=1 $het_job "$groups" srun --het-group=2 ./x
expect 'and so are groups of one spec' 0 \
    "published 0:; 2: $A --mpi-bind=hybrid, kill on bad exit
0 host: ./x
2 $A --mpi-bind=hybrid: ./x" \
    FAKE_SHOW=1 $het_job "$groups" srun --het-group=0,2 ./x
expect 'and no other group' 0 \
    "published nothing
1 host: ./x" \
    FAKE_SHOW=1 $het_job "$groups" srun --het-group=1 ./x
expect 'groups out of order' 0 \
    "0 $B: ./y
1 $A: ./x" \
    $het_job srun --het-group=1 --container-image=a ./x : \
    --het-group=0 --container-image=b ./y
expect 'groups with a gap' 0 \
    "0 $A: ./x
2 $B: ./y" \
    $het_job srun --het-group=0 --container-image=a ./x : \
    --het-group=2 --container-image=b ./y
expect 'one spec for two groups, and one for the third' 0 \
    "published 0: $A --container-mounts=/d:/d:rw; 2: $A --container-mounts=/d:/d:rw; 1: $B, kill on
        bad exit
0 $A --container-mounts=/d:/d:rw: ./x
1 $B: ./y
2 $A --container-mounts=/d:/d:rw: ./x" \
    FAKE_SHOW=1 $het_job srun --het-group=0,2 --container-image=a \
    --container-mounts=/d ./x : --het-group=1 --container-image=b ./y
expect 'groups that berth cannot read send the job once' 0 \
    "published *: job=SLURM_HET_SIZE=3 job=SLURM_JOB_ID=100 job=SLURM_JOB_ID_HET_GROUP_0=100
        job=SLURM_JOB_ID_HET_GROUP_1=101 job=SLURM_JOB_ID_HET_GROUP_2=102 $A --mpi-bind=launch
0 $A --mpi-bind=launch: ./x
1 $A --mpi-bind=launch: ./x" \
    FAKE_SHOW=1 $het_job srun '--het-group=[0-1' --container-image=a --mpi-bind=launch ./x
}

# Het steps in one allocation: only the name of the socket has the component.
expect 'het steps have an image each' 0 \
    "0 $A: ./x
1 $B: ./y
2 host: ./z" \
    SLURM_JOB_ID=100 srun --container-image=a ./x : --container-image=b ./y : ./z
expect 'het steps out of order' 0 \
    "0 $B: ./y
1 $A: ./x" \
    SLURM_JOB_ID=100 srun --het-group=1 --container-image=a ./x : \
    --het-group=0 --container-image=b ./y
expect 'het steps with a gap count without it' 0 \
    "1 $A: ./x
4 $B: ./y
5 host: ./z" \
    SLURM_JOB_ID=100 srun --het-group=1 --container-image=a ./x : \
    --het-group=5 ./z : --het-group=4 --container-image=b ./y
expect 'het steps with another step number' 0 \
    "0 $A: ./x
1 $B: ./y" \
    FAKE_STEP=12 SLURM_JOB_ID=100 srun --container-image=a ./x : --container-image=b ./y
expect 'het steps under SLURM_EXPORT_ENV=NONE' 0 \
    "0 $A: ./x
1 $B: ./y" \
    SLURM_EXPORT_ENV=NONE SLURM_JOB_ID=100 srun --container-image=a ./x : \
    --container-image=b ./y

finish
