#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# berth run, with a runtime that starts programs where they are instead of in an image.
# Speaks TAP.
# shellcheck disable=SC2016,SC2086 # words for other shells

berth=$PWD/tests/unit/berth-here
built=$PWD/berth
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
mkdir -p a/bin b/bin path
cat >path/apptainer <<'END'
#!/bin/sh
# The words of exec up to the image are the runtime's; berth-init or the command follows.
[ -z "$SHOW" ] || echo "$*" >>"$SHOW"
[ -z "$KILLS" ] || kill -9 "$PPID"
until case "$1" in "${0%/*/*}"/[abc]) ;; *) false ;; esac; do shift; done
export IMAGE="$1"
shift
END
printf '%s\n' "$enter" >>path/apptainer
chmod +x path/apptainer
PATH=$T/path:$PATH
SLURMD_NODENAME=n1
export PATH SLURMD_NODENAME
unset SHOW
# A process that ends at once frees nothing.
ASAN_OPTIONS=detect_leaks=0
export ASAN_OPTIONS

show='echo "$IMAGE${1+ $*}"'

# What berth run runs.
expect 'a command runs in the image' 0 'T/a x y z' \
    "$berth" run --container-image=a sh -c "$show" sh x 'y z'
expect 'the words of the command are its own' 0 'T/a --container-image=b' \
    "$berth" run --container-image=a -- sh -c "$show" sh --container-image=b
expect 'the variable of an option is its default' 0 'T/b' \
    env BERTH_CONTAINER_IMAGE=b "$berth" run sh -c "$show"
expect 'the option wins over its variable' 0 'T/a' \
    env BERTH_CONTAINER_IMAGE=b "$berth" run --container-image=a sh -c "$show"
expect 'the default of a job applies to berth run, too' 0 'T/b' \
    env "SLURM_BERTH_JOB=1;*:image=$T/b;." "$berth" run sh -c "$show"
expect 'the variable wins over the default of a job' 0 'T/a' \
    env BERTH_CONTAINER_IMAGE=a "SLURM_BERTH_JOB=1;*:image=$T/b;." "$berth" run sh -c "$show"
expect 'a variable of pyxis counts last' 0 'T/a' \
    env PYXIS_CONTAINER_IMAGE=a "$berth" run sh -c "$show"
expect '... after the default of a job' 0 'T/b' \
    env PYXIS_CONTAINER_IMAGE=a "SLURM_BERTH_JOB=1;*:image=$T/b;." "$berth" run sh -c "$show"
two="SLURM_BERTH_JOB=1;0:image=$T/b;1:image=$T/a;."
expect 'of several defaults that of the first component, in a batch script' 0 'T/b' \
    env "$two" "$berth" run sh -c "$show"
expect 'and in a shell that salloc starts as a step' 0 'T/b' \
    env "$two" SLURM_STEP_ID=4294967290 "$berth" run sh -c "$show"
expect 'and none in a step, whose component is not known' 2 \
    "berth: the components of this job have different container options, and berth cannot tell which
        component this is; write --het-group with numbers (--het-group=0,2-3), or unset
        SLURM_BERTH_JOB and name the image" \
    env "$two" SLURM_STEP_ID=3 "$berth" run sh -c "$show"
expect 'where none is needed if the image is named' 0 'T/a' \
    env "$two" SLURM_STEP_ID=3 "$berth" run --container-image=a sh -c "$show"
expect 'image none runs the command on the host' 0 '' \
    env BERTH_CONTAINER_IMAGE=b "$berth" run --container-image=none sh -c 'printf "%s" "$IMAGE"'
expect 'lists accumulate' 0 '1 2,3' \
    env BERTH_CONTAINER_ENV=A=1 "$berth" run --container-image=a '--container-env=B=2\,3' \
    sh -c 'echo "$A $B"'
expect 'no variable of berth is in the environment' 0 '' \
    "$berth" run --container-image=a sh -c 'env | grep ^BERTH_ || :'

expect 'a script is for sbatch' 2 'berth: run: --container-script is for sbatch; leave it out' \
    "$berth" run --container-image=a --container-script true

# Tasks of a step on a node, as Slurm starts them: they meet. This runtime makes no user
# namespace, so that each starts it again.
tasks()
{
    ranks=$1
    job=$(date +%N)
    shift
    : >"shown.$job"
    for rank in $(echo "$ranks" | tr , ' '); do
        env SHOW="$T/shown.$job" SLURM_JOB_ID="$job" SLURM_STEP_ID=0 \
            SLURM_GTIDS="${EXPECTED-$ranks}" \
            SLURM_LOCALID="$rank" SLURM_PROCID="$rank" SLURM_NODEID=0 \
            SLURM_STEP_NUM_NODES=2 SLURM_STEP_NUM_TASKS=4 SLURM_NTASKS=4 "$@" 2>&1 &
    done >"met.$job"
    wait
    sort "met.$job"
    sed -n 's/.* --hold .*/started/p' "shown.$job"
}
cat >await <<'END'
#!/bin/sh
for it in $(seq 600); do [ ! -e "$1" ] || exit 0; sleep 0.1; done
echo "$1 never comes"
END
chmod +x await
late() { EXPECTED=0,1,2 tasks "$@"; }
several() { tasks "$1" env SLURM_HET_SIZE=2 "$2" "$3" "$4" "$5"; }
expect 'tasks of a step: one start shows that each needs a container' 0 '0
1
2
started' tasks 0,1,2 "$berth" run --container-image=a sh -c 'echo $SLURM_PROCID'
two() { tasks "$@" | grep -v started; }
expect 'tasks of two images' 0 'T/a 0
T/a 1
T/b 2' two 0,1,2 sh -c '[ $SLURM_PROCID = 2 ] && it=b || it=a
    exec "$0" run --container-image=$it sh -c "echo \$IMAGE \$SLURM_PROCID"' "$berth"
meanwhile 'a task that never comes: the others start' 0 '0
2
started' late 0,2 "$berth" run --container-image=a sh -c 'echo $SLURM_PROCID'
meanwhile 'one line: what starts the container is killed' 0 \
    'berth: n1: the process that started the container was killed; submit the step again
started' tasks 0,1,2,3 env KILLS=y "$berth" run --container-image=a true
expect 'one line: the image is not there' 0 \
    "berth: n1: image 'T/gone': not found; check the path, and that the nodes see this file system,
        or write docker://gone for an image of a registry" \
    tasks 0,1,2,3 "$berth" run --container-image=gone true
expect 'one line: an option that is none' 0 \
    "berth: run: '--colour' is not an option; expected one of --help" \
    tasks 0,1,2,3 "$berth" run --colour true
expect 'one line: the environment is gone' 0 \
    'berth: note: --export=NONE has dropped the environment, and only the plugin restores it; MPI
        may need FI_*, UCX_*, MPICH_*, OMPI_MCA_*, I_MPI_* and OMP_*: write srun --export=ALL
started' \
    tasks 0,1 env -u HOME "$berth" run --container-image=a true
expect 'an account is printed once' 0 'component 0: 4 tasks on 2 nodes run true in T/a
started' tasks 0,1,2 sh -c '"$0" explain --container-image=a true | head -n 1' "$berth"
expect 'homes: a container for each' 0 'started
started' tasks 0,1,2 sh -c 'HOME=$T/$((SLURM_PROCID / 2)) exec "$0" run --container-image=a true' \
    "$berth"
meanwhile 'ranks count, not what they start' 0 \
    "berth: n1: note: image 'T/a': a container for each of 2 tasks: the runtime is installed setuid
        and uses no user namespace (--container-args=--userns)" two 0,1 sh -c '
    export SRUN_DEBUG=4
    if [ $SLURM_PROCID = 0 ]; then
    "$0" run --container-image=b ./await over.$SLURM_JOB_ID 2>/dev/null & else sleep 0.3; fi
    "$0" run --container-image=a true; : >over.$SLURM_JOB_ID; wait' "$berth"
expect 'ranks of an mpirun in a task are apart' 0 'n
n' two 0,1 env PMI_RANK=0 PMI_SIZE=8 "$berth" run --container-image=a \
    sh -c 'echo $UCX_POSIX_USE_PROC_LINK'
expect 'one line a container, at once: what the kernel refuses' 0 \
    'berth: a limit of this process is too low for berth (File too large); raise it: ulimit -f
berth: a limit of this process is too low for berth (File too large); raise it: ulimit -f' \
    tasks 0,1,2 timeout 20 sh -c 'ulimit -f 16384
    exec "$0" run --container-image=$(expr substr aab $((SLURM_PROCID + 1)) 1) true' "$berth"
expect 'a program of berth that is larger than the limit for files' 1 \
    'berth: a limit of this process is too low for berth (File too large); raise it: ulimit -f' \
    sh -c 'ulimit -f 8; exec "$0" run --container-image=a true' "$berth"
expect '... in a step with few descriptors, too' 0 \
    'berth: a limit of this process is too low for berth (Too many open files); raise it: ulimit
        -n' \
    tasks 0,1,2 timeout 20 sh -c 'ulimit -n 10; exec "$0" run --container-image=a true' "$berth"
expect '... and outside of one' 1 \
    'berth: a limit of this process is too low for berth (Too many open files); raise it: ulimit
        -n' \
    timeout 20 sh -c 'ulimit -n 10; exec "$0" run --container-image=a true' "$berth"
expect 'one line: other components may have --mpi-bind' 0 \
    'berth: note: only the plugin compares the components of this step; give --mpi-bind to all of
        them, or to none
started' \
    several 0,1 "$berth" run --container-image=a true

# One task, which starts several: they meet in the process of the first one.
cat >one <<'END'
#!/bin/sh
# Runs $1 with `run`, and `beside`: a container that lives until the end.
berth=$2
export up=up.$SLURM_JOB_ID over=over.$SLURM_JOB_ID
run() { "$berth" run "$@"; }
beside() { run --container-image=b sh -c ': >$up; ./await $over' & ./await $up; }
eval "$1"
: >$over
wait
END
chmod +x one
one() { tasks 0 $2 ./one "$1" "$berth" | grep -v started; }
meanwhile '70 directories, one after the other' 0 'none failed' one 'beside; image=$PWD/a
    mkdir $(seq 70)
    for i in $(seq 70); do (cd "$i" && run --container-image="$image" true) || echo "$i"; done
    echo none failed'
meanwhile 'an image that has failed, and is there now' 0 \
    "berth: n1: image 'T/c': not found; check the path, and that the nodes see this file system, or
        write docker://c for an image of a registry
then: T/c" one 'beside; run --container-image=c true; mkdir -p c/bin
    run --container-image=c sh -c "echo then: \$IMAGE"'
held='run --container-image=a ./await $up 2>&1 | { cat; echo its output ends; : >$over
    } & sleep 0.3; beside; wait'
meanwhile 'the first task alone decides when its output ends' 0 'its output ends' one "$held"
cat >without-pidfd <<'END'
#!/usr/bin/python3
# Runs the command as if the kernel had neither pidfd_open nor SO_PEERPIDFD (77): a filter
# answers ENOSYS and ENOPROTOOPT.
import ctypes, os, platform, struct, sys
getsockopt = 209 if platform.machine() == "aarch64" else 55
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 434), (6, 0, 0, 0x50026),
         (0x15, 0, 3, getsockopt), (0x20, 0, 0, 32), (0x15, 0, 1, 77), (6, 0, 0, 0x5005c),
         (6, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
    sys.exit(os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
END
chmod +x without-pidfd
meanwhile 'and where the kernel has no pidfd, too: its output ends' 0 'its output ends' \
    one "$held" ./without-pidfd

# How berth run ends.
expect 'the exit status is that of the command' 7 '' \
    "$berth" run --container-image=a sh -c 'exit 7'
expect 'a signal that ends the command gives 128 and its number' 143 '' \
    sh -c '"$@" 2>/dev/null' sh "$berth" run --container-image=a sh -c 'kill -TERM $$; sleep 300'

# Which flags the runtime gets.
flags()
{
    rm -f shown
    SHOW=$T/shown "$berth" run "$@" true
    tail -n 1 shown | sed "s|$T|T|g"
}
expect 'options are those of srun' 0 \
    '--silent exec --writable-tmpfs --no-mount home,cwd --mount
        type=bind,"source=T/b","destination=T/b" --cleanenv T/a true' \
    flags --container-image=a --container-gpu=none --container-mounts=b --no-container-mount-home \
    --container-writable --container-args=--cleanenv
# shellcheck disable=SC2317
temporary()
{
    export TMPDIR=$1
    shift
    flags --container-image=a --container-gpu=none "$@"
}
# A directory in which any user may make files, by a path that the runtime does not mount.
mkdir -p node
ln -sfn node temporary
mount_node='"source=T/node"'
at_end=
case $T in
    /tmp/* | /var/tmp/* | /dev/*)
        at_end=' --mount type=bind,"source=T/node","destination=T/node"'
        ;;
esac
expect 'the TMPDIR of the node is mounted' 0 \
    "--silent exec --mount type=bind,$mount_node,\"destination=T/temporary\"$at_end T/a true" \
    temporary "$T/temporary"
expect 'a mount of the user wins over it' 0 \
    "--silent exec$at_end --mount type=bind,\"source=T/node/.\",\"destination=T/temporary\" T/a
        true" \
    temporary "$T/temporary" --container-mounts="$T/node/.:$T/temporary"
expect 'a TMPDIR that the runtime mounts is not' 0 '--silent exec T/a true' temporary /var/tmp
expect 'nor one that is not there' 0 '--silent exec T/a true' temporary /no/such
expect 'nor one in a closed container' 0 '--silent exec --contain T/a true' \
    temporary /usr --container-args=--contain
# This runtime mounts nothing: what is not its own source is missed.
mkdir -p other
ln -sfn other alias
expect 'a mount that the runtime leaves out' 1 \
    "berth: n1: image 'T/a': mount 'T/b:/nowhere': the container has no '/nowhere'; something else
        is mounted there (--container-args, variables APPTAINER_*); choose another place" \
    "$berth" run --container-image=a --container-mounts=b:/nowhere true
expect 'a mount that the runtime hides' 1 \
    "berth: n1: image 'T/a': mount 'T/b:T/other': the container shows something else at 'T/other';
        something else is mounted there (--container-args, variables APPTAINER_*); choose another
        place" \
    "$berth" run --container-image=a --container-mounts="b:$T/other" true
expect 'a mount that the runtime makes writable' 1 \
    "berth: n1: image 'T/a': mount 'T/b:T/b': the container could write to 'T/b'; something else is
        mounted there (--container-args, variables APPTAINER_*); choose another place" \
    "$berth" run --container-image=a --container-mounts="b:$T/b:ro" true
expect 'a mount on a symbolic link' 1 \
    "berth: n1: image 'T/a': mount 'T/b:T/alias': the container shows something else at 'T/alias';
        it leads through a symbolic link: mount it at 'T/other'" \
    "$berth" run --container-image=a --container-mounts="b:$T/alias" true
printf hsqs >files.sqsh
expect 'a squashfs file that the runtime leaves out' 1 \
    "berth: n1: image 'T/a': mount 'T/files.sqsh:T/other': the container does not show the files of
        the source at 'T/other'; something else is mounted there (--container-args, variables
        APPTAINER_*); choose another place" \
    "$berth" run --container-image=a --container-mounts="files.sqsh:$T/other:sqsh" true
expect 'a source that the container shows' 0 hello \
    "$berth" run --container-image=a --container-mounts="$T/other:$T/alias,/dev/null,/proc/self" \
    echo hello
expect 'a lifetime of a job is for steps' 0 \
    'berth: note: --container-lifetime=job: only steps of srun use a container again; this one ends
        with its command
hello' \
    "$berth" run --container-image=a --container-lifetime=job echo hello
expect 'an image is saved by steps' 2 \
    'berth: run: --container-save: only a step of srun with the plugin saves its container; write
        `berth save`, or leave it out' \
    "$berth" run --container-image=a --container-save=x.sif echo hello
expect 'a name is for steps' 2 \
    'berth: run: --container-name: only steps of srun with the plugin have containers with names;
        leave it out' \
    "$berth" run --container-image=a --container-name=work echo hello
# shellcheck disable=SC2317
apart()
{
    env "$@" "$berth" run --container-image=a --container-env=UCX_TLS=tcp \
        sh -c 'echo "$UCX_TLS $UCX_POSIX_USE_PROC_LINK $MPIR_CVAR_CH4_CMA_ENABLE $PMI_FD"'
}
expect 'a rank of an mpirun knows that it is apart' 0 'tcp n 0 7' apart PMI_RANK=1 PMI_FD=7
expect 'a process without a rank does not' 0 'tcp   ' apart PMI_FD=
expect 'what the user has set stays' 0 'tcp y 0 ' \
    apart OMPI_COMM_WORLD_RANK=1 UCX_POSIX_USE_PROC_LINK=y

# The command's descriptors are its own.
expect 'descriptors of the command stay' 0 'through 9' \
    sh -c 'exec 9>&1; exec "$@"' sh "$berth" run --container-image=a sh -c 'echo through 9 >&9'
open_files='print join(" ", grep { -e "/proc/self/fd/$_" } 0..999), "\n"'
expect 'no descriptor is added' 0 "$(perl -e "$open_files" 2>&1)" \
    "$berth" run --container-image=a perl -e "$open_files"
for stream in '<&-' '>&-'; do
    expect "an account needs its output, whatever else is closed: $stream" 1 \
        "berth: n1: 'standard output': cannot be written:
            $([ "$stream" = '>&-' ] && echo Bad file descriptor ||
            echo No space left on device)" \
        sh -c "exec \"\$@\" >/dev/full $stream" sh "$berth" explain --container-image=a true
done
expect 'closed descriptors stay closed' 0 "$(perl -e "$open_files" <&- 2>&1)" \
    sh -c 'exec "$@" <&-' sh "$berth" run --container-image=a perl -e "$open_files"

# What berth run refuses.
expect 'an image that is not there' 1 \
    "berth: n1: image 'T/gone.sif': not found; check the path, and that the nodes see this file
        system" \
    "$berth" run --container-image=gone.sif true
expect 'no image' 2 \
    'berth: run: no image; give --container-image, or set BERTH_CONTAINER_IMAGE' \
    "$berth" run true
expect 'an account of the host' 2 \
    'berth: explain: no image; give --container-image, or set BERTH_CONTAINER_IMAGE' \
    "$berth" explain --container-image=none true
expect 'other options without an image' 2 \
    'berth: --container-writable: it needs an image; add --container-image=IMAGE' \
    "$berth" run --container-writable true
expect 'a value that is wrong' 2 \
    "berth: --container-workdir: expected a directory in the image, from /, got 'x'" \
    "$berth" run --container-image=a --container-workdir=x true
expect 'a variable that is wrong' 2 \
    "berth: BERTH_CONTAINER_WRITABLE: expected yes or no, got 'perhaps'" \
    env BERTH_CONTAINER_WRITABLE=perhaps "$berth" run --container-image=a true
expect 'a default of a job that is none' 2 \
    "berth: SLURM_BERTH_JOB: internal data is damaged (9;*:image=/a); have one release of berth on
        all hosts, and set no variable of berth by hand" \
    env 'SLURM_BERTH_JOB=9;*:image=/a' "$berth" run true
expect 'an option that is none' 2 \
    "berth: run: '--colour' is not an option; expected one of --help" \
    "$berth" run --colour true
expect 'an option that is misspelt' 2 \
    "berth: run: '--container-imge' is not an option; did you mean '--container-image'?" \
    "$berth" run --container-imge=a true
expect 'an option without its first word' 2 \
    "berth: run: '--image' is not an option; did you mean '--container-image'?" \
    "$berth" run --image=a true
expect 'a letter that is none' 2 \
    "berth: run: '-x' is not an option; expected one of --help" \
    "$berth" run -x true
expect 'a letter of another alphabet' 2 \
    "berth: run: '-é' is not an option; expected one of --help" \
    "$berth" run -é true
expect 'a value for an option that has none' 2 \
    "berth: run: '--container-writable=yes' takes no value" \
    "$berth" run --container-image=a --container-writable=yes true
expect 'an option without its value' 2 \
    "berth: --container-image: the value is empty; give one, or leave the option out" \
    "$berth" run --container-image
expect 'a command on the host that is not there' 127 \
    "berth: run: command 'gone-it-is': No such file or directory; check the name, or give its
        path" \
    "$berth" run --container-image=none gone-it-is
expect 'a command on the host that is no program' 126 \
    "berth: run: command './a': Permission denied; check the name, or give its path" \
    "$berth" run --container-image=none ./a

# The site's settings, in the file that config= names.
umask 022
mkdir slurm
: >slurm/slurm.conf
echo "required berth.so config=$T/site.yaml" >slurm/plugstack.conf
echo 'runtime: {raw_args: none}' >site.yaml
chmod 755 .
for verb in run explain; do
    expect "what the site denies is denied to $verb" 1 \
        'berth: --container-args: this site does not allow it; leave it out (T/site.yaml:1)' \
        env "SLURM_CONF=$T/slurm/slurm.conf" "$berth" "$verb" --container-image=a \
        --container-args=-C true
done

says 'no command is a wrong use' 2 'usage: berth run [OPTION...]' "$berth" run --container-image=a
says '--help lists the options' 0 '  --container-image=PATH' "$berth" run --help
says '--help shows optional values' 0 '  --mpi-bind[=auto|' "$berth" run --help

# A tree that was moved, by a link to its command.
mkdir -p new/bin new/libexec/berth
cp "$built" new/bin/
for program in init inside mpi oci start task; do
    cp "$built-$program" new/libexec/berth/
done
ln -s new/bin/berth link
expect 'a tree that was moved uses its own programs' 0 'T/a x' \
    ./link run --container-image=a sh -c "$show" sh x
says 'doctor names those' 0 "ok    berth's programs: all are of berth
        $("$built" --version | cut -d' ' -f2), in '$T/new/libexec/berth'" \
    sh -c './link doctor || :'
rm new/libexec/berth/berth-start
expect 'and no others if one is missing' 1 \
    "berth: 'T/new/libexec/berth/berth-start': No such file or directory; berth is incomplete on
        this host, tell its administrators" \
    ./link run --container-image=a true

# The program as it is built looks for berth-start where it will be installed.
name='berth-start is not there'
said=$("$built" run --container-image=a true 2>&1)
incomplete='berth is incomplete on this host, tell its administrators'
case $said in
    "berth: '/"*"/berth-start': No such file or directory; $incomplete")
        report 0 "$name"
        ;;
    *)
        skip "$name" "it is installed: $said"
        ;;
esac

finish
