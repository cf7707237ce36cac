#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The site's settings in plugstack.conf and berth.yaml, in srun and in slurmstepd.
# shellcheck source=tests/spank/lib.sh
. "${srcdir:-.}/tests/spank/lib.sh"

A=--container-image=T/a
B=--container-image=T/b

# option_prefix
expect 'options have the prefix' 0 \
    "0 $A --no-container-mount-home: ./x
1 $B: ./y" \
    FAKE_WORDS=option_prefix=berth- srun --berth-container-image=a \
    --berth-no-container-mount-home ./x : --berth-container-image=b ./y
expect 'without the prefix there is no such option' 1 \
    "srun: unrecognized option '--container-image=a'" \
    FAKE_WORDS=option_prefix=berth- srun --container-image=a ./x
expect 'errors name the option as the site does' 1 \
    "srun: error: berth: --berth-container-workdir: expected a directory in the image, from /, got
        'w'" \
    FAKE_WORDS=option_prefix=berth- srun --berth-container-image=a \
    --berth-container-workdir=w ./x
expect 'advice names the option as the site does' 1 \
    'srun: error: berth: --berth-container-image=none: the other container options mean nothing on
        the host; leave them out' \
    FAKE_WORDS=option_prefix=berth- srun --berth-container-image=none \
    --berth-container-writable ./x
expect 'a default with the prefix' 0 \
    "0 $A --container-mounts=/d:/d:rw --container-mounts=/e:/e:rw: ./x
1 $B --container-mounts=/d:/d:rw --container-mounts=/e:/e:rw: ./y" \
    FAKE_WORDS=option_prefix=berth- \
    FAKE_SCRIPT="srun ./x : --berth-container-image=b ./y" \
    sbatch --berth-container-image=a --berth-container-mounts=/d \
    --berth-container-mounts=/e job.sh

# runtime.path and option_prefix are in the order
raw="argv: LIBEXEC/berth-task 1
- table *: $A"
if since 23.11; then
    raw="argv: LIBEXEC/berth-task ./x 1
- table *: $A"
fi
site 'runtime:' '  path: /opt/r'
expect 'berth-task knows the runtime and the prefix' 0 \
    "0 $A: ./x 1
$raw
$(order "$A" '' 'prefix=x- runtime=/opt/r')" \
    FAKE_RAW=1 "FAKE_WORDS=$SITE option_prefix=x-" \
    srun --x-container-image=a ./x 1

# provenance
site 'provenance: {file: /var/log/berth/%u}'
expect 'berth-task knows where the record goes, and speaks for the component' 0 \
    "0 $A: ./x 1
$raw
$(order "$A" ' prints-component prints-step' 'record=/var/log/berth/%u')" \
    FAKE_RAW=1 "FAKE_WORDS=$SITE" srun --container-image=a ./x 1
# share
site 'runtime: {share: no}'
expect 'share: no: the tasks read it where they meet' 0 \
    "0 $A: ./x 1
$raw
$(order "$A")" \
    FAKE_RAW=1 "FAKE_WORDS=$SITE" srun --container-image=a ./x 1

# raw_args
DENIED='--container-args: this site does not allow it; leave it out (T/berth.yaml:1)'
site 'runtime: {raw_args: none}'
expect 'raw_args: none: srun refuses' 1 \
    "srun: error: berth: $DENIED" \
    "FAKE_WORDS=$SITE" SLURM_JOB_ID=100 srun --container-image=a \
    --container-args=--nv ./x
expect 'raw_args: none: sbatch refuses' 1 \
    "sbatch: error: berth: $DENIED" \
    "FAKE_WORDS=$SITE" sbatch --container-image=a --container-args=--nv job.sh
expect 'raw_args: none: srun refuses a flag in the environment' 1 \
    'srun: error: berth: APPTAINER_BIND: this variable is a flag for the container runtime, and this
        site does not allow it; unset it (T/berth.yaml:1)' \
    "FAKE_WORDS=$SITE" APPTAINER_BIND=/x srun --container-image=a ./x
expect 'raw_args: none: a variable that a component does not get' 0 \
    "0 $A: ./x" \
    "FAKE_WORDS=$SITE" APPTAINER_BIND=/x srun --export=NONE --container-image=a ./x
expect 'raw_args: none: variables for a pull' 0 \
    "0 $A: ./x" \
    "FAKE_WORDS=$SITE" APPTAINER_NOHTTPS=1 APPTAINER_DOCKER_PASSWORD=x srun --container-image=a ./x
expect 'raw_args: none: the node refuses what srun let through' 1 \
    "berth: n1: $DENIED" \
    "FAKE_WORDS=$SITE" "FAKE_TABLE=1;*:image=/a&args=--nv;." srun ./x
expect 'raw_args: none: the node, with a prefix' 1 \
    'berth: n1: --x-container-args: this site does not allow it; leave it out (T/berth.yaml:1)' \
    "FAKE_WORDS=$SITE option_prefix=x-" "FAKE_TABLE=1;*:image=/a&args=--nv;." srun ./x
expect 'raw_args: none: other options are fine' 0 \
    "0 $A --container-mounts=/d:/d:rw: ./x" \
    "FAKE_WORDS=$SITE" srun --container-image=a --container-mounts=/d ./x
site 'runtime: {raw_args: [--nv]}'
expect 'raw_args: a list, and another word' 1 \
    "srun: error: berth: --container-args: '--rocm': this site does not allow it; it allows --nv
        (T/berth.yaml:1)" \
    "FAKE_WORDS=$SITE" srun --container-image=a --container-args=--rocm ./x

# Policy on the node.
site 'rules: [{default: {mpi-bind: hybrid}}, {partition: gpu, default: {mpi-bind: "off"}}]'
expect 'mpi: the user goes before it' 0 "0 $A --mpi-bind=local: ./x" \
    "FAKE_WORDS=$SITE" SLURM_JOB_PARTITION=cpu srun --container-image=a --mpi-bind=local ./x
expect 'mpi: a default of a partition' 0 "0 $A --mpi-bind=off site=mpi-bind: ./x" \
    "FAKE_WORDS=$SITE" SLURM_JOB_PARTITION=gpu srun --container-image=a ./x
expect 'mpi: what srun chose for all components stays' 0 \
    "0 --container-image=/a --mpi-bind=auto world=host: ./x" \
    "FAKE_WORDS=$SITE" "FAKE_TABLE=1;*:image=/a&mpi-bind=auto&world=host;." srun ./x
site 'rules: [{partition: gpu, account: climate, force: {mpi-bind: hybrid}}]'
expect 'a rule goes before the user, who is told' 0 \
    "berth: n1: note: --mpi-bind: a rule of this site replaces 'local' by 'hybrid' (T/berth.yaml:1)
0 $A --mpi-bind=hybrid site=mpi-bind: ./x" \
    "FAKE_WORDS=$SITE" SLURM_JOB_PARTITION=gpu SLURM_JOB_ACCOUNT=climate \
    srun --container-image=a --mpi-bind=local ./x
site 'rules: [{partition: gpu, forbid: [container-writable]}]'
forbidden='--container-writable: a rule of this site forbids it; leave it out (T/berth.yaml:1)'
expect 'a rule forbids an option in a partition: the node refuses' 1 "berth: n1: $forbidden" \
    "FAKE_WORDS=$SITE" SLURM_JOB_PARTITION=gpu srun --container-image=a --container-writable ./x
expect 'and in no other one' 0 "0 $A --container-writable: ./x" \
    "FAKE_WORDS=$SITE" SLURM_JOB_PARTITION=cpu srun --container-image=a --container-writable ./x
# In a het job Slurm has one SLURM_JOB_PARTITION for all: that of the last component.
het_job='SLURM_HET_SIZE=2 SLURM_JOB_ID=100 SLURM_JOB_ID_HET_GROUP_0=100
    SLURM_JOB_ID_HET_GROUP_1=101 SLURM_JOB_PARTITION=cpu'
partitions='SLURM_JOB_PARTITION_HET_GROUP_0=gpu SLURM_JOB_PARTITION_HET_GROUP_1=cpu'
# shellcheck disable=SC2086 # a list
{
expect 'het job: each component has the rules of its own partition' 1 "berth: n1: $forbidden
1 $A --container-writable: ./x" \
    "FAKE_WORDS=$SITE" $het_job $partitions \
    srun --het-group=0,1 --container-image=a --container-writable ./x
expect 'het job that srun makes: it says so in another form' 1 "berth: n1: $forbidden
1 host: ./y" \
    "FAKE_WORDS=$SITE" SLURM_JOB_PARTITION=cpu FAKE_MADE=gpu,cpu \
    srun --container-image=a --container-writable ./x : ./y
expect 'het job: what a user sets does not count' 1 "berth: n1: $forbidden" \
    "FAKE_WORDS=$SITE" $het_job FAKE_PARTITIONS=gpu,cpu \
    SLURM_JOB_PARTITION_HET_GROUP_0=cpu SLURM_JOB_PARTITION_PACK_GROUP_0=cpu \
    srun --het-group=0 --container-image=a --container-writable ./x
expect 'het job that srun makes: the same' 1 "berth: n1: $forbidden
1 host: ./y" \
    "FAKE_WORDS=$SITE" SLURM_JOB_PARTITION=cpu FAKE_MADE=gpu,cpu \
    SLURM_JOB_PARTITION_HET_GROUP_0=cpu SLURM_JOB_PARTITION_PACK_GROUP_0=cpu \
    srun --container-image=a --container-writable ./x : ./y
hidden='SLURM_JOB_PARTITION_HET_GROUP_* are not set: the partition and account of this component are
        not known, and rule 1 of this site is for some of them only (T/berth.yaml); do not unset
        Slurm'"'"'s variables'
expect 'het job: a partition that is not known' 1 "berth: n1: $hidden" \
    "FAKE_WORDS=$SITE" $het_job srun --het-group=0 --container-image=a ./x
site 'rules: [{account: climate, default: {mpi-bind: "off"}}]'
expect 'het job: an account of its own, and none' 0 "0 $A --mpi-bind=off site=mpi-bind: ./x
1 $A: ./x" \
    "FAKE_WORDS=$SITE" $het_job $partitions SLURM_JOB_ACCOUNT=climate \
    SLURM_JOB_ACCOUNT_HET_GROUP_0=climate srun --het-group=0,1 --container-image=a ./x
site 'rules: [{default: {mpi-bind: "off"}}]'
expect 'het job: a rule for all asks for no partition' 0 "0 $A --mpi-bind=off site=mpi-bind: ./x" \
    "FAKE_WORDS=$SITE" $het_job srun --het-group=0 --container-image=a ./x
}
site 'rules: [{forbid: [container-writable]}]'
expect 'a rule forbids an option to all: srun refuses' 1 "srun: error: berth: $forbidden" \
    "FAKE_WORDS=$SITE" srun --container-image=a --container-writable ./x
# A node that decides otherwise about MPI.
printf '#!/bin/sh\necho "scancel $*"\n' >"$T/slurm/scancel"
chmod +x "$T/slurm/scancel"
other='0123456789abcdef.none login.example'
unlike='berth.yaml of this node, or profiles.d, decides otherwise about MPI than that of
        login.example, and all nodes of a step must decide alike; have the same files on all hosts
        (mpi.compare in berth.yaml)'
site 'rules: [{force: {mpi-bind: "off"}}]'
expect 'alike: a step of two nodes runs' 0 "0 $A --mpi-bind=off site=mpi-bind: ./x" \
    "FAKE_WORDS=$SITE" FAKE_NODES=2 srun --container-image=a ./x
expect 'unlike: one node refuses and ends the step' 0 "berth: n1: $unlike
scancel --quiet 100.0" \
    "FAKE_WORDS=$SITE" FAKE_NODES=2 "FAKE_SITE=$other" srun --container-image=a ./x
expect 'unlike: on one node it does not matter' 0 "0 $A --mpi-bind=off site=mpi-bind: ./x" \
    "FAKE_WORDS=$SITE" "FAKE_SITE=$other" srun --container-image=a ./x
expect 'unlike: tasks on the host do not matter' 0 '0 host: ./x' \
    "FAKE_WORDS=$SITE" FAKE_NODES=2 "FAKE_SITE=$other" srun --container-image=none ./x
expect 'unlike: what is no digest' 0 \
    "berth: n1: internal data is damaged (0123 x); have one release of berth on all hosts, and set
        no variable of berth by hand
scancel --quiet 100.0" \
    "FAKE_WORDS=$SITE" FAKE_NODES=2 'FAKE_SITE=0123 x' srun --container-image=a ./x
site 'mpi: {compare: no}'
expect 'unlike: a node that does not compare' 0 "0 $A: ./x" \
    "FAKE_WORDS=$SITE" FAKE_NODES=2 "FAKE_SITE=$other" srun --container-image=a ./x
site 'mounts: {forced: [/usr:/site:ro], default: [/bin:/tools, /nowhere], forbidden: [/etc]}'
expect 'the mounts of the site' 0 \
    "0 $A --container-mounts=/tmp:/d:rw --container-mounts=/bin:/tools:rw
        --container-mounts=/usr:/site:ro: ./x" \
    "FAKE_WORDS=$SITE" srun --container-image=a --container-mounts=/tmp:/d ./x
forbidden="this site forbids '/etc', everything in it and the directories above it; leave the mount
        out, or start in another directory if this is the working directory (T/berth.yaml:1)"
expect 'a forbidden mount: srun refuses' 1 \
    "srun: error: berth: mount '/etc/passwd:/p:rw': $forbidden" \
    "FAKE_WORDS=$SITE" srun --container-image=a --container-mounts=/etc/passwd:/p ./x
ln -s /etc/passwd link
expect 'a forbidden mount: the node sees behind a link' 1 \
    "berth: n1: mount 'T/link:/p:rw': $forbidden" \
    "FAKE_WORDS=$SITE" srun --container-image=a --container-mounts=link:/p ./x
site "images: {roots: [$T]}" 'environment: {unset: [DISPLAY]}' 'mpi: {glibc: refuse}'
identity=$(stat -c '%d.%i' a)
expect 'berth-task knows the terms, and nothing that was forged' 0 \
    "0 $A: ./x 1
$(printf '%s\n' "$raw" | sed '/^- table/i - order task runtime=/evil')
$(order "$A" '' '' "terms unset=DISPLAY keep-glibc=T/berth.yaml:3 image=$identity")" \
    FAKE_RAW=1 "FAKE_WORDS=$SITE" "BERTH_TASK_ORDER=1;task:runtime=/evil;." srun \
    --container-image=a ./x 1
rm link

# A fault of berth.yaml.
wrong="T/berth.yaml:2: runtime.share: expected auto or no, got 'sometimes'"
site 'runtime:' '  share: sometimes'
expect 'a fault of berth.yaml: srun says where' 1 \
    "srun: error: berth: $wrong" \
    "FAKE_WORDS=$SITE" srun --container-image=a ./x
expect 'a fault of berth.yaml: sbatch says where' 1 \
    "sbatch: error: berth: $wrong" \
    "FAKE_WORDS=$SITE" sbatch --container-image=a job.sh
expect 'a fault of berth.yaml on the node: said there' 1 \
    "berth: n1: $wrong" \
    "FAKE_WORDS=$SITE" "FAKE_TABLE=1;*:image=/a;." srun ./x
expect 'a fault of berth.yaml: the prefix still holds' 1 \
    "srun: error: berth: $wrong" \
    "FAKE_WORDS=$SITE option_prefix=x-" srun --x-container-image=a ./x
expect 'a fault of berth.yaml: other steps run' 0 \
    '0 host: ./x' \
    "FAKE_WORDS=$SITE" srun ./x
expect 'a fault of berth.yaml: other jobs run' 0 \
    '0 host: job.sh' \
    "FAKE_WORDS=$SITE" sbatch job.sh
expect 'a fault of berth.yaml: a component on the host runs' 0 \
    '0 host: ./x' \
    "FAKE_WORDS=$SITE" "FAKE_TABLE=1;*:;." srun ./x
expect 'a file that config= names and nobody has' 1 \
    "srun: error: berth: T/none.yaml: No such file or directory; it must be there, and readable by
        all users" \
    "FAKE_WORDS=config=$T/none.yaml" srun --container-image=a ./x
site 'runtime: {share: no}'
chmod 666 berth.yaml
expect 'a file that others can write' 1 \
    "srun: error: berth: T/berth.yaml: 'berth.yaml' can be written by others (mode 0666); chmod
        go-w" \
    "FAKE_WORDS=$SITE" srun --container-image=a ./x
chmod 644 berth.yaml

# A word that berth does not know.
UNKNOWN="plugstack.conf: 'colour=red' is not a setting of berth; expected option_prefix= or config=
        (all else is set in berth.yaml)"
expect 'an unknown word: container steps fail' 1 \
    "srun: error: berth: $UNKNOWN" \
    FAKE_WORDS=colour=red srun --container-image=a ./x
expect 'an unknown word: other steps run' 0 \
    '0 host: ./x' \
    FAKE_WORDS=colour=red srun ./x
expect 'an unknown word: the prefix still holds' 1 \
    "srun: error: berth: $UNKNOWN" \
    FAKE_WORDS='colour=red option_prefix=x-' srun --x-container-image=a ./x
expect 'an unknown word on the node: the container step fails there' 1 \
    "berth: n1: $UNKNOWN" \
    FAKE_WORDS=colour=red "FAKE_TABLE=1;*:image=/a;." srun ./x

finish
