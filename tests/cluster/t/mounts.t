#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a step asks to be mounted is what its tasks see: of two mounts on one place the later
# one, wherever they are from; a mount on a place that leads through a symbolic link; the
# node's TMPDIR and any working directory. What the runtime leaves out or hides ends the step.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b c
A=/images/a.sif
V=/shared/mounts.$$
at_exit "on login alice bash -c 'chmod -f 755 $V/walk; rm -rf $V'"
on login alice bash -c "
    mkdir -p $V/1 $V/2 $V/3 $V/scratch/sub
    echo v1 >$V/1/f; echo v2 >$V/2/f; echo v2 >$V/3/f; echo v3 >$V/2/other; echo deep >$V/scratch/sub/f
    ln -sfn $V/scratch scratch"
step=(srun -Q -N1 -n1 "--container-image=$A")

# ---- two mounts on one place

script job.sh <<END
#!/bin/bash
#SBATCH --container-image=$A --container-mounts=$V/1:/data
srun -Q "\$@"
END
# in_job [SBATCH-OPTION...] -- SRUN-WORD...: what the job prints.
in_job() {
    local options=() status=0
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    alice env ${job_env:+"$job_env"} sbatch -Q -W -o job.out "${options[@]}" job.sh "${@:2}" ||
        status=$?
    on login alice cat job.out
    return "$status"
}
try "the step's mount replaces the job's" v2 -- in_job \
    -- "--container-mounts=$V/2:/data" cat /data/f
try "... also in another spelling" v2 -- in_job -- "--container-mounts=$V/2:/x/..//data/." cat \
    /data/f
try "... and its mode" "~Read-only file system.*status" -- in_job \
    -- "--container-mounts=$V/1:/data:ro" rm /data/f
try "... of one component" "v1${nl}v2" "sort -u" -- \
    in_job -N2 -- bash -c \
    "srun -Q --overlap -n1 --container-mounts=$V/2:/data cat /data/f : -n1 cat /data/f"
try "... of a file" v3 -- in_job "--container-mounts=$V/1/f:/etc/model.nml" -- \
    "--container-mounts=$V/2/other:/etc/model.nml" cat /etc/model.nml
try "... in a container that the job keeps" v2 -- \
    in_job -- --container-lifetime=job "--container-mounts=$V/2:/data" cat /data/f
try "... and that of a step whose srun is in a container" v2 -- \
    in_job -- srun --overlap "--container-mounts=$V/2:/data" cat /data/f
try "sbatch's command line replaces the script's mount" v2 \
    -- in_job "--container-mounts=$V/2:/data" -- cat /data/f
try "... and its image, an option that is given once" b -- in_job --container-image /images/b.sif \
    -- cat /etc/berth-image
job_env=BERTH_CONTAINER_IMAGE=/images/b.sif
try "sbatch's environment replaces the script's image, too" b -- in_job -- cat /etc/berth-image
try "... and the command line both" c -- in_job --container-image=/images/c.sif \
    -- cat /etc/berth-image
job_env=
try "an account tells which, and from where" \
    "~over '$V/1:/data:rw' of the job.*yours: $V/2:/data\$" \
    "grep -e ' over ' -e mounts: | sed 's/;.*//'" -- \
    in_job -- "--container-mounts=$V/2:/data" --container-explain true
for variable in {APPTAINER,SINGULARITY}_BIND{,PATH}; do
    try "an option replaces the mount of $variable, and no other" "v2${nl}v1" -- \
        env "$variable=$V/1:/data,$V/1:/more" "${step[@]}" "--container-mounts=$V/2:/data" cat \
        /data/f /more/f
done
try "BERTH_CONTAINER_MOUNTS, too" v2 -- \
    env "BERTH_CONTAINER_MOUNTS=$V/1:/data" "${step[@]}" "--container-mounts=$V/2:/data" cat /data/f
try "berth run, too" v2 -- \
    env "BERTH_CONTAINER_MOUNTS=$V/1:/data" berth run --container-image=$A \
    "--container-mounts=$V/2:/data" cat /data/f
try "what is in a directory is mounted after it" "v2${nl}v1" -- \
    "${step[@]}" "--container-mounts=$V/1:/data/in,$V/3:/data" cat /data/f /data/in/f
try "two of one option are a mistake" \
    "~^srun: error: berth: --container-mounts: '$V/1:/data:rw' and '$V/2:/data:rw' have one place.*status" -- \
    "${step[@]}" "--container-mounts=$V/1:/data,$V/2:/data" true

# ---- what the runtime leaves out or hides

try "a mount that a flag of the runtime hides ends the step on each node" \
    "~^2 .*mount '$V/1:/data': the container shows something else at '/data'" \
    "grep -o \"mount '.*\" | sort | uniq -c | sed 's/^ *//'" -- \
    srun -Q -N2 -n4 --container-image=$A "--container-args=--bind=$V/2:/data" \
    "--container-mounts=$V/1:/data" cat /data/f
try "... and its mode" "~mount '$V/1:/data': the container could write to '/data'.*status" -- \
    "${step[@]}" "--container-args=--bind=$V/1:/data" "--container-mounts=$V/1:/data:ro" cat /data/f
try "devices, files and directories of the node are what they are" v1 -- \
    "${step[@]}" "--container-mounts=/dev/null,/dev/shm,/proc/self,/sys,/run,$V/1/f:/etc/motd:ro,$V/scratch" cat /etc/motd

# ---- symbolic links

# shellcheck disable=SC2016 # of the user
home=$(on login alice sh -c 'echo $HOME')
try "a mount on a link in the home directory is there" "$home/scratch/sub${nl}$V/scratch/sub" -- \
    "${step[@]}" "--container-mounts=$home/scratch" ls -d "$home/scratch/sub" "$V/scratch/sub"
try "... from another source" "f${nl}other" -- \
    "${step[@]}" "--container-mounts=$V/2:$home/scratch" ls "$home/scratch"
try "... where the home directory is not" sub -- \
    "${step[@]}" --no-container-mount-home --container-workdir=/ \
    "--container-mounts=$home/scratch" ls "$home/scratch"
try "... and with a writable image" sub -- \
    "${step[@]}" --container-writable "--container-mounts=$home/scratch" ls "$home/scratch"
for how in '' '-P'; do
    try "a working directory that was reached by cd $how and a link" "deep" -- \
        bash -c "cd $how ~/scratch/sub && ${step[*]} cat f"
done
try "... keeps its name, if the container has it" "$home/scratch/sub" -- \
    bash -c "cd ~/scratch/sub && ${step[*]} --container-mounts=$home/scratch sh -c 'echo \$PWD'"
on login alice bash -c "mkdir -p $V/walk && echo in >$V/walk/f && chmod 311 $V/walk"
try "a working directory that cannot be listed" in -- bash -c "cd $V/walk && ${step[*]} cat f"

# ---- HOME

# of the task
# shellcheck disable=SC2016
show='echo $HOME; ls ~'
try "the home directory is HOME, if the option asks for one" "$V/1${nl}f" -- \
    env "HOME=$V/1" "${step[@]}" --container-mount-home bash -c "$show"
try "... also root's" "/root${nl}f" -- \
    env "HOME=$V/1" "${step[@]}" --container-mount-home --container-remap-root bash -c "$show"
try "... else that of the runtime" "~^$home" -- env "HOME=$V/1" "${step[@]}" bash -c "$show"

# ---- a directory in memory, a mount taken away, the propagation

try "a directory in memory has the options that were asked for" "~^tmpfs .*noexec.*size=2097152k.*mode=700.*huge=within_size$" -- \
    "${step[@]}" "--container-mounts=tmpfs:/var/lib/memory:size=2G+mode=700+huge=within_size+noexec" \
    findmnt -n -o fstype,options /var/lib/memory
# shellcheck disable=SC2016 # the tasks' variables
try "... is empty, and the tasks of a node share it" "0 1${nl}0 1" -- \
    srun -Q -w n1 -N1 -n2 "--container-image=$A" --container-mounts=tmpfs:/srv sh -c \
    'touch "/srv/$SLURM_LOCALID"; until [ -e /srv/0 ] && [ -e /srv/1 ]; do sleep 0.1; done; ls /srv | xargs'
try "... with an option that the kernel refuses" \
    "~--container-mounts: 'tmpfs:/x:mode=zzz': a tmpfs cannot be mounted: Invalid argument; check its options.*status" -- \
    "${step[@]}" --container-mounts=tmpfs:/x:mode=zzz true
try "... where each task has a container of its own" \
    "~--container-mounts: 'tmpfs:/x': only in a container that the tasks of a node share: the container has a process namespace.*status" -- \
    "${step[@]}" --container-mounts=tmpfs:/x --container-args=--pid true
for it in "$home" /tmp /etc/hosts; do
    try "a mount of the runtime is taken away: $it" "~^status 1$" "grep -v ^srun:" -- \
        "${step[@]}" "--container-mounts=umount:$it" findmnt "$it"
done
try "... root's home" gone -- \
    "${step[@]}" --container-mount-home --container-remap-root --container-mounts=umount:/root \
    sh -c 'findmnt /root || echo gone'
try "... where nothing is mounted" \
    "~--container-mounts: 'umount:/usr': nothing is mounted there by itself; leave it out.*status" -- \
    "${step[@]}" --container-mounts=umount:/usr true
try "... and where there is no such path" "~'umount:/none': No such file or directory; leave it out.*status" -- \
    "${step[@]}" --container-mounts=umount:/none true
try "a mount that cannot be mounted again" "private,unbindable ro,nosuid,nodev" "sed 's/,relatime.*//; s/  */ /'" -- \
    "${step[@]}" "--container-mounts=$V/1:/data:unbindable+ro" findmnt -n -o propagation,options /data
try "an account shows them" "~yours: tmpfs:/x:size=1G, umount:/tmp, .*$V/1:/data:ro\\+unbindable" "grep mounts:" -- \
    "${step[@]}" "--container-mounts=tmpfs:/x:size=1G,umount:/tmp,$V/1:/data:ro+unbindable" \
    --container-explain true

# ---- TMPDIR

on login,n1,n2 root install -d -m 1777 /localscratch
try "the node's TMPDIR is there" "~^/localscratch/tmp\." \
    -- env TMPDIR=/localscratch "${step[@]}" mktemp
try "... and an account tells so" "~TMPDIR /localscratch of the host.*the node's: /localscratch" \
    "grep -e directories: -e mounts:" -- env TMPDIR=/localscratch "${step[@]}" --container-explain \
    true
try "... but not in a closed container" "~No such file.*status" -- \
    env TMPDIR=/localscratch "${step[@]}" --container-args=--contain mktemp
try "... nor one in which the user may not make files, which would hide the image's" a -- \
    env TMPDIR=/etc berth run --container-image=$A cat /etc/berth-image
try "... nor one in a mount of the user that lacks it, which nothing is made in" f -- \
    env TMPDIR=$V/scratch/sub "${step[@]}" "--container-mounts=$V/1:$V/scratch" ls "$V/scratch"
try "... which the user may not write to" bin -- \
    env TMPDIR=$V/scratch/sub "${step[@]}" "--container-mounts=/usr:$V/scratch" sh -c \
    "ls $V/scratch | grep '^bin'"
try "the end of a link in a mount of the user that lacks it ends the step" \
    "~mount '$V/1:$home/scratch': .*it leads through a symbolic link.*status" -- \
    "${step[@]}" "--container-mounts=$V/1:$home/scratch,/usr:$V" true

finish
