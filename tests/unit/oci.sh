#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# berth-oci, as slurmstepd starts it for Slurm's own --container, with a runtime that
# starts programs where they are instead of in an image. Speaks TAP.
# shellcheck disable=SC2016,SC2034 # words for other shells, and variables of tap.sh

oci=$PWD/tests/unit/oci-here
built=$PWD/berth-oci
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
mkdir -p a/bin bundle path home etc job00007
: >bundle/config.json
cat >path/apptainer <<'RUNTIME'
#!/bin/sh
# The words of exec up to the image are the runtime's; berth-init or the command follows.
until case "$1" in "${0%/*/*}"/a) ;; *) false ;; esac; do
    case $1 in *slurm_script*) export MOUNT="$1" ;; esac
    shift
done
export IMAGE="$1" PATH="$1/bin:$PATH"
shift
RUNTIME
printf '%s\n' "$enter" >>path/apptainer
chmod +x path/apptainer
cat >path/show <<'SHOW'
#!/bin/sh
echo "$IMAGE $MARK${1+ $*}"
SHOW
printf '#!/bin/sh\necho that of the host\n' >path/python
printf '#!/bin/sh\necho that of the image\n' >a/bin/python
cat >job00007/slurm_script <<'SCRIPT'
#!/bin/sh
echo "script in $IMAGE with $MOUNT${1+ $*}${SLURM_CONTAINER+, steps in $SLURM_CONTAINER}"
SCRIPT
cat >path/starter <<'STARTER'
#!/bin/sh
shift
echo "bundle $* for $MARK"
STARTER
chmod +x path/python a/bin/python path/show path/starter job00007/slurm_script

# environment NAME=VALUE...: the file that slurmstepd writes. ASAN_OPTIONS: what berth-oci
# becomes frees nothing if it ends at once.
environment() {
    printf '%s\0' "PATH=$T/path:$PATH" HOME="$T" SLURMD_NODENAME=n1 ASAN_OPTIONS=detect_leaks=0 \
        "$@" >environment
}

# The environment of slurmstepd itself.
as_stepd() { env -i MARK=stepd "$@"; }

environment MARK=task SLURM_STEP_ID=0 SLURM_JOB_ID=7
expect 'a task runs in the image, with the environment of the file' 0 'T/a task x y z' \
    as_stepd "$oci" environment "$T/a" show x 'y z'
expect 'a relative image is in the working directory' 0 'T/a task' as_stepd "$oci" environment a \
    show
expect 'words that look like options are those of the command' 0 'T/a task --container-image=b' \
    as_stepd "$oci" environment a show --container-image=b
expect 'the exit status is that of the command' 7 '' as_stepd "$oci" environment a sh -c 'exit 7'
expect 'a path that slurmstepd has found for a name is a name in the image' 0 'that of the image' \
    as_stepd "$oci" environment a "$T/path/python"
expect 'another path stays' 0 'that of the host' as_stepd "$oci" environment a \
    "$T/path/../path/python"
expect 'no image there: one line' 1 \
    "berth: n1: image 'T/none.sif': not found; check the path, and that the nodes see this file
        system" \
    as_stepd "$oci" environment none.sif show
environment MARK=task SLURM_STEP_ID=0 SLURM_LOCALID=3
expect '... of one task' 1 '' as_stepd "$oci" environment bundle show

environment SLURM_STEP_ID=0 SLURM_JOB_ID=7 SLURM_GTIDS=0 SLURM_PROCID=0 SLURM_NODEID=0 \
    SLURM_HET_SIZE=2 \
    SLURM_STEP_NUM_NODES=1 SLURM_STEP_NUM_TASKS=1 SLURM_NTASKS=1
expect 'components may get the image of another one' 0 \
    "berth: note: Slurm gives the last --container to all components of this step; only the plugin
        gives each its own
T/a " as_stepd "$oci" environment "$T/a" show

# Batch scripts.
environment SLURM_JOB_ID=7 SLURM_PROCID=0 SLURM_LOCALID=0
expect 'a batch script is mounted, and its steps run in the image, too' 0 \
    'script in T/a with
        type=bind,"source=T/job00007/slurm_script","destination=T/job00007/slurm_script",ro one two,
        steps in a' \
    as_stepd "$oci" environment a "$T/job00007/slurm_script" one two
printf '%s\0' PATH="$T/path:$PATH" SLURMD_NODENAME=n1 SLURM_JOB_ID=7 SLURM_PROCID=0 \
    SLURM_LOCALID=0 \
    SLURM_NODEID=0 SLURM_NNODES=1 SLURM_JOB_NUM_NODES=1 SLURM_TASKS_PER_NODE=1 \
    SLURM_GTIDS=0 >environment
expect 'a script without HOME, as by slurmrestd: no note about --export=NONE' 0 \
    'script in T/a with
        type=bind,"source=T/job00007/slurm_script","destination=T/job00007/slurm_script",ro, steps
        in a' \
    as_stepd "$oci" environment a "$T/job00007/slurm_script"
environment SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=0
expect 'a task of a step is no batch script' 0 "script in T/a with " \
    as_stepd "$oci" environment a "$T/job00007/slurm_script"

# What the plugin has prepared.
environment SLURM_BERTH_HOST=1 MARK=host
expect 'a task that the plugin puts on the host' 0 ' host x' as_stepd "$oci" environment a show x
expect '... without the variable' 0 '' as_stepd "$oci" environment a sh -c 'env | grep BERTH || :'
environment BERTH_TASK_ORDER=order MARK=prepared
expect 'a task with an order of the plugin' 0 ' prepared y' as_stepd "$oci" environment a \
    "$T/path/show" y

# Bundles, with and without a program of the site.
environment MARK=task SLURM_CONF="$T/etc/slurm.conf" SLURM_LOCALID=0
expect 'a bundle without a program of the site' 1 \
    "berth: n1: 'bundle' is an OCI bundle, and berth runs images; give an image, or ask the
        administrators to set oci.runtime in berth.yaml" \
    as_stepd "$oci" environment bundle show
: >etc/slurm.conf
echo "required /lib/berth.so config=$T/etc/berth.yaml" >etc/plugstack.conf
echo "oci: {runtime: $T/path/starter}" >etc/berth.yaml
expect 'with one' 0 'bundle bundle show x for task' as_stepd "$oci" environment bundle show x
echo "oci: {runtime: $T/path/nothing}" >etc/berth.yaml
expect 'with one that is not there' 1 \
    "berth: n1: oci.runtime: 'T/path/nothing': No such file or directory; correct berth.yaml" \
    as_stepd "$oci" environment bundle show

# A site that forbids the place of batch scripts.
environment SLURM_JOB_ID=7 HOME="$T/home" SLURM_CONF="$T/etc/slurm.conf"
echo "mounts: {forbidden: [$T/job00007]}" >etc/berth.yaml
expect 'a site that forbids to mount the script' 1 \
    "berth: n1: the batch script 'T/job00007/slurm_script' cannot be mounted: the site forbids its
        place (mounts.forbidden); run the script on the host, and programs with srun" \
    as_stepd sh -c 'cd home && exec "$@"' sh "$oci" "$T/environment" "$T/a" \
    "$T/job00007/slurm_script"

# What is wrong with oci.conf.
: >empty
# A program with sanitizers needs one variable, as above.
if grep -q __asan_init "$built"; then
    printf 'ASAN_OPTIONS=detect_leaks=0\0' >empty
fi
missing="image 'T/none.sif': not found; check the path"
expect 'an empty environment' 1 \
    "berth: $(hostname): $missing, and that the nodes see this file system" \
    as_stepd "$oci" empty "$T/none.sif" show
expect 'no file with the environment' 1 \
    "berth: this host: '/nowhere', the environment of the task: No such file or directory; oci.conf
        must have CreateEnvFile=null, and pass %e" \
    as_stepd "$oci" /nowhere a show
environment MARK=theirs SLURM_STEP_ID=0
if [ "$(id -u)" = 0 ]; then
    chown 1 environment
    expect 'an environment that another user has put there' 1 \
        "berth: this host: 'environment', the environment of the task: it belongs to another user;
            tell the administrators" \
        as_stepd "$oci" environment a show
else
    skip 'an environment that another user has put there' 'only root can give a file away'
fi
expect 'by hand' 1 "berth: berth-oci is started by Slurm, by the line RunTimeRun of oci.conf; see
        spank_berth(8)" \
    "$oci" x y
expect 'its release' 0 "berth-oci $("$built" --version | sed 's/.* //')" "$built" --version

finish
