#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# berth-task and berth-init themselves, with a runtime that starts programs where they are
# instead of in an image. Speaks TAP.
# shellcheck disable=SC2016 # words for other shells

built_task=$PWD/tests/unit/berth-task
berth=$PWD/tests/unit/berth-here
inimage=$PWD/tests/unit/inimage
init=$PWD/berth-init
built=$PWD/berth-task
mpi=$PWD/berth-mpi
# shellcheck source=tests/tap.sh
. "${srcdir:-.}/tests/tap.sh"
task=$T/task
printf '#!/bin/sh\nexec "%s" apart "%s" "$@"\n' "$inimage" "$built_task" >"$task"
chmod +x "$task"
mkdir -p a/bin 'work dir'
echo 'not an image' >bad.sif
: >empty.sif
printf '#!/nowhere/sh\n' >lost-interpreter
printf '#!/bin/sh\r\n' >windows
echo 'echo ran' >no-interpreter
printf '#!/bin/sh\necho "runs: $*"\n' >app
chmod +x app lost-interpreter windows no-interpreter
echo '#!/bin/sh' >no-program
cat >runtime <<'END'
#!/bin/sh
# The words of exec up to the image are the runtime's; the command follows.
until [ "$1" = "${0%/*}/a" ]; do
    [ "$1" != --pwd ] || cd "$2"
    shift
done
shift
END
printf '%s\n' "$enter" >>runtime
chmod +x runtime
SLURMD_NODENAME=n1
export SLURMD_NODENAME
runtime=$T/runtime
# A process that ends at once frees nothing.
ASAN_OPTIONS=detect_leaks=0
export ASAN_OPTIONS

# order REQUEST[;LABEL:FIELDS...]: what the plugin orders (plan/order.h).
order() { echo "1;task:runtime=$runtime;request:$1;."; }

# with REQUEST WORD...: berth-task as the plugin puts it in front of WORDs.
with()
{
    request=$1
    shift
    BERTH_TASK_ORDER=$(order "$request") "$task" "$@"
}

# What berth-task refuses, before any container.
expect 'started by hand' 1 \
    'berth: n1: berth-task is started by Slurm through the berth plugin, not by hand; see
        spank_berth(8)' \
    "$task" ./app
expect 'no command' 1 \
    'berth: n1: berth-task is started by Slurm through the berth plugin, not by hand; see
        spank_berth(8)' \
    with "image=$T/a"
expect 'a request that is none' 1 \
    "berth: n1: BERTH_TASK_ORDER: internal data is damaged (colour); have one release of berth on
        all hosts, and set no variable of berth by hand" \
    with colour=red ./app
expect 'an image that is not there' 1 \
    "berth: n1: image 'T/gone.sif': not found; check the path, and that the nodes see this file
        system" \
    with "image=$T/gone.sif" ./app
expect 'a pulled image that is not there' 1 \
    "berth: n1: image 'docker://r/x': its file 'T/gone.sif' is not here; the cache must be where all
        nodes see it (images.cache in berth.yaml, or XDG_CACHE_HOME)" \
    with "image=$T/gone.sif&uri=docker://r/x" ./app
expect 'what is not an image' 1 \
    "berth: n1: image 'T/bad.sif': not an image; expected a SIF file, a squashfs file or a sandbox
        directory, as 'apptainer build NEW.sif FILE' makes them from other formats" \
    with "image=$T/bad.sif" ./app
expect 'a mount that is not there' 1 \
    "berth: n1: --container-mounts: 'T/gone': the source path does not exist; expected a file or
        directory of the host, on every node" \
    with "image=$T/a&mounts=$T/gone:/x:rw" ./app
expect 'a directory as a squashfs file' 1 \
    "berth: n1: --container-mounts: 'T' is not a squashfs file; make one with 'mksquashfs DIR
        FILE'" \
    with "image=$T/a&mounts=$T:/x:sqsh" ./app
mkdir "$(printf 'caf\351')"
expect 'a name that the runtime cannot carry' 1 \
    "$(printf "berth: n1: --container-mounts: 'T/caf\351': the name is not UTF-8, and the container
        runtime takes no other; rename it")" \
    with "image=$T/a&mounts=$T/caf%E9:/x:rw" ./app
expect 'a runtime that is not there' 1 \
    "berth: n1: container runtime '/gone': No such file or directory; ask the administrators to
        install it or to correct runtime.path in berth.yaml" \
    with "image=$T/a;task:runtime=/gone" ./app
expect 'options are named as the site does' 1 \
    "berth: n1: --x-container-mounts: 'T/gone': the source path does not exist; expected a file or
        directory of the host, on every node" \
    with "image=$T/a&mounts=$T/gone:/x:rw;task:prefix=x-" ./app

driver=NVIDIA kind=nvidia device=/dev/nvidiactl
[ ! -e $device ] || driver=ROCm kind=rocm device=/dev/kfd
expect 'a GPU driver that is not there' 1 \
    "berth: n1: --container-gpu=$kind: this host has no $driver driver (there is no $device); ask
        for a node that has one, or leave the option out" \
    with "image=$T/a&gpu=$kind" ./app

expect 'a device that the runtime cannot bring' 1 \
    "berth: n1: --container-gpu: 'berth.test/no=0': the container runtime 'T/runtime' has no
        --device; it takes Apptainer 1.5 or newer" \
    with "image=$T/a&gpu=berth.test/no%3D0" ./app

# The program as it is built looks for the next one where it will be installed.
said=$(BERTH_TASK_ORDER="$(order "image=$T/a")" "$built" ./app 2>&1)
incomplete='berth is incomplete on this host, tell its administrators'
case $said in
    "berth: n1: '/"*"/berth-start': No such file or directory; $incomplete")
        report 0 'berth-start is not there'
        ;;
    *)
        skip 'berth-start is not there' "it is installed: $said"
        ;;
esac

# A runtime that is there but cannot be executed.
printf '#!/no/such/interpreter\n' >"$T/broken-runtime"
chmod +x "$T/broken-runtime"
expect 'a runtime without its interpreter' 1 \
    "berth: n1: 'T/broken-runtime': cannot be started: No such file or directory" \
    with "image=$T/a;task:runtime=$T/broken-runtime" ./app

# A runtime that ends before it has started the container.
mkdir fail
# shellcheck disable=SC2120 # expect gives it words
runs() { PATH=$T/fail:$PATH "$berth" run --container-image=a "$@" ./app; }
printf '#!/bin/sh\necho working >&2\necho "FATAL:   no luck" >&2\necho over >&2\nexit 255\n' \
    >fail/apptainer
chmod +x fail/apptainer
expect 'a runtime that fails' 1 \
    "berth: n1: image 'T/a': T/fail/apptainer did not start it: FATAL:   no luck; ask the
        administrators, or look with \`berth doctor\` on that node" \
    runs
mkdir slow
printf '#!/bin/sh\nsleep 6\necho "FATAL:   no luck" >&2\nexit 255\n' >slow/apptainer
chmod +x slow/apptainer
# shellcheck disable=SC2317,SC2329 # meanwhile calls it
runs_slowly() { PATH=$T/slow:$PATH "$berth" run --container-image=a ./app; }
meanwhile 'a start that takes long says what it is doing' 1 \
    "berth: n1: note: image 'T/a': the container runtime starts it
berth: n1: image 'T/a': T/slow/apptainer did not start it: FATAL:   no luck; ask the administrators,
        or look with \`berth doctor\` on that node" \
    runs_slowly
cat >fail/apptainer <<'END'
#!/bin/sh
printf "\033[31mfatal error:\033[0m no room\n" >&2
echo "gs 0x0" >&2
exit 2
END
expect 'a runtime that tells much of its end' 1 \
    "berth: n1: image 'T/a': T/fail/apptainer did not start it: fatal error: no room; ask the
        administrators, or look with \`berth doctor\` on that node" \
    runs
# How often a runtime is started that gives up with WORDS: again without the directory for what
# tasks write if it is to blame, and not if a file has such a name.
# starts TIMES WORDS
starts()
{
    printf '#!/bin/sh\necho >>%s\necho "%s" >&2\nexit 255\n' "'$T/starts'" "$2" >fail/apptainer
    : >starts
    TMPDIR=$T runs --container-writable >/dev/null 2>&1
    expect "starts of a runtime that fails: $2" 0 "$1" sh -c "wc -l <starts | tr -d ' '"
}
starts 2 'FATAL: container creation failed: while mounting overlay: no such device'
starts 2 'FATAL: mount overlay->/x/final error: no'
starts 1 'FATAL: could not open /x/overlays/a.sif: no'
starts 1 'FATAL: no room'
# fails WORDS ADVICE: what it says when a runtime gives up with WORDS.
fails()
{
    printf '#!/bin/sh\necho "%s" >&2\nexit 255\n' "$1" >fail/apptainer
    expect "a runtime that fails: $1" 1 \
        "berth: n1: image 'T/a': T/fail/apptainer did not start it: $1; $2" \
        runs --container-args=-x
}
fails 'FATAL: engine configuration too big > 1' \
    'unset variables that the command does not need'
fails 'runtime/cgo: pthread_create failed: no' \
    'a hard limit is too low for it (ulimit -H -u, -v): raise it where you set it, or ask the
        administrators'
for it in 'failed to reserve page summary memory' 'out of memory'; do
    fails "fatal error: $it" \
        'the limit of virtual memory is too low for the runtime: raise it where you set it
            (ulimit -v)'
done
fails 'apptainer: error while loading shared libraries: libx.so.1: file too short' \
    'take the directory of that library out of LD_LIBRARY_PATH, or have the administrators install
        it'
fails 'FATAL: corrupted image: unknown compression algorithm value 6' \
    'the image is good, and another runtime reads it; build it with gzip, which every runtime reads
        (mksquashfs -comp gzip)'
fails 'FATAL: stat /proc/self/fd/3: no such file or directory' \
    "the container needs /proc: leave out the flag that removes it, or have the administrators set
        \`mount proc = yes\`"
fails 'Error for command: unknown flag: -x' 'leave that flag out of --container-args'
fails 'Error for command: unknown shorthand flag: x' 'leave that flag out of --container-args'
fails 'Error for command: flag needs an argument: x' 'give that flag a value in --container-args'
lacks='required option --passphrase or --pem-path missing'
fails "FATAL: While checking container encryption: $lacks" \
    'the image is encrypted: write --container-args=--pem-path=FILE with the file of its key'
fails 'FATAL: Invalid encryption private key: x509: failed to parse private key' \
    "the image is encrypted: --container-args=--pem-path=FILE names another key, or one in another
        form than \`openssl rsa -traditional\` writes"
fails 'FATAL: could not open image x' \
    'look in --container-args for an argument that is not a flag, or a flag without its value'
fails "FATAL: you don't have write permissions" 'use --container-writable instead of a flag'
fails "FATAL: mount source x doesn't exist" 'mount what is on every node'
printf '#!/bin/sh\necho "FATAL: mount source /opt/cray doesn'"'t"' exist" >&2\nexit 255\n' \
    >fail/apptainer
# shellcheck disable=SC2119
bound() { APPTAINER_BIND=/opt/crayons,/opt/cray:/x runs; }
expect 'a mount by a variable of the user' 1 \
    "berth: n1: image 'T/a': T/fail/apptainer did not start it: FATAL: mount source /opt/cray
        doesn't exist; unset APPTAINER_BIND, which names it, or mount what is on every node" \
    bound
fails 'FATAL: could not mount /x: not a directory' \
    'mount a directory over a directory, and a file over a file (--container-mounts)'

# All the way to the application.
expect 'the command runs' 0 \
    'runs: 1 a b' \
    with "image=$T/a" ./app 1 'a b'
expect 'a command of the PATH runs' 0 \
    'yes' \
    with "image=$T/a" echo yes
expect 'the exit status is the command'\''s' 7 \
    '' \
    with "image=$T/a" sh -c 'exit 7'
expect 'a variable wins' 0 \
    'C=a,b P=here' \
    env P=here BERTH_TASK_ORDER="$(order "image=$T/a&env=C%3Da,b&env=P")" \
    "$task" sh -c 'echo "C=$C P=$P"'
expect 'the working directory stays' 0 \
    'T/work dir' \
    sh -c 'cd "work dir" && BERTH_TASK_ORDER=$0 "$1" pwd' "$(order "image=$T/a")" "$task"
expect 'the working directory is set' 0 \
    'T/work dir' \
    with "image=$T/a&workdir=$T/work%20dir" pwd
expect 'the working directory keeps its name' 0 \
    'T/link' \
    sh -c 'ln -s "work dir" link && cd link &&
    BERTH_TASK_ORDER=$0 PWD=$PWD "$1" sh -c "echo \$PWD"' \
    "$(order "image=$T/a")" "$task"
expect 'nothing of ours is in the environment' 0 \
    '' \
    with "image=$T/a" sh -c 'env | grep ^BERTH_ || :'

# An account, of a container for this task alone.
cat >told <<'END'
component 0: 1 task on 1 node runs ./app 1 in T/a
END
step='nodes=1&tasks=1&first=&restored=P&restored=identity'
explained()
{
    request=$1
    shift
    BERTH_TASK_ORDER="$(order "image=$T/a&$request;step:prints-component=&prints-step=&$step")" \
        "$task" "$@"
}
some() { explained "$@" | sed -n 1p; }
expect 'an account starts with a summary' 0 "$(cat told)" some explain=text ./app 1
variables() { P='a b' explained "$@" | sed -n '/^environment/,$p' | grep -v '^    [A-Z_]*='; }
expect 'an account tells why variables change' 0 \
    "environment, besides what Slurm sets; if a name appears twice, the later one wins
  capture: --export drops it, and berth restores it (list: identity)
  user: --container-env" \
    variables 'explain=all&env=C%3D1' ./app
step='nodes=1&tasks=1&first='
origins() { explained "$@" | sed -n '/^mounts/,/^$/p; /^environment/,$p'; }
sites='explain=all&site=S%3D2&site=/usr:/usr:ro&env=S%3D2&env=U%3D1'
expect 'an account tells what is the site'"'"'s' 0 \
    'mounts, besides those that the runtime makes by itself
  user: --container-mounts
    /tmp
  site: the site mounts it in every container
    /usr (ro)

environment, besides what Slurm sets; if a name appears twice, the later one wins
  site: the site sets it in every container
    S=2
  user: --container-env
    U=1' \
    origins "$sites&mounts=/tmp:/tmp:rw&mounts=/usr:/usr:ro" ./app
libraries() { APPTAINER_CONTAINLIBS=/opt/a/libx.so.1,,/liby.so origins "$@" | sed -n '1,/^$/p'; }
expect 'an account tells which variable mounts libraries' 0 \
    'mounts, besides those that the runtime makes by itself
  user: APPTAINER_CONTAINLIBS
    /opt/a/libx.so.1 -> /.singularity.d/libs/libx.so.1 (ro)
    /liby.so -> /.singularity.d/libs/liby.so (ro)' \
    libraries explain=all ./app
exported() { E=own origins "$@" | sed -n '/^environment/,$p'; }
sites='explain=all&site=S%3D2&site=E&site=GONE&site=F%3D2'
expect 'an account tells in the order in which variables are set' 0 \
    'environment, besides what Slurm sets; if a name appears twice, the later one wins
  site: the site sets it in every container
    S=2
  user: exported, which wins over the site (rules)
    E=own
  user: --container-env
    U=1
    F=1
  site: the site sets it in every container
    F=2' \
    exported "$sites&env=S%3D2&env=E&env=GONE&env=U%3D1&env=F%3D1&env=F%3D2" ./app
expect 'an account is given by the first node of a component alone' 0 '' \
    with "image=$T/a&explain=text" ./app
expect 'a component on the host is not run either' 0 '' with explain=text ./app
expect 'an account runs nothing' 0 '' \
    sh -c '"$@" >/dev/null; test ! -e ran' \
    sh env BERTH_TASK_ORDER="$(order \
    "image=$T/a&explain=text;step:prints-component=&prints-step=")" \
    "$task" sh -c 'echo ran >ran'
expect 'an account as JSON' 0 '  "form": 1,' \
    sh -c '"$@" | sed -n 2p' \
    sh env BERTH_TASK_ORDER="$(order \
    "image=$T/a&explain=json;step:prints-component=&prints-step=")" \
    "$task" ./app
expect 'an account that nobody takes' 1 \
    "berth: n1: 'standard output': cannot be written: No space left on device" \
    sh -c '"$@" >/dev/full' \
    sh env BERTH_TASK_ORDER="$(order \
    "image=$T/a&explain=json;step:prints-component=&prints-step=")" \
    "$task" ./app

expect 'a holder that cannot go where the tasks will be' 1 \
    'cannot enter the user namespace of the tasks: Invalid argument' \
    sh -c '"$1" --hold -1 -1 0 "" </dev/null' sh "$init"

# The record of a step.
SLURM_JOB_ID=17 SLURM_JOB_USER=alice
export SLURM_JOB_ID SLURM_JOB_USER
expect 'a record is kept, and the command runs' 0 \
    'runs: 1' \
    with "image=$T/a;task:record=$T/steps-%25u-%25j;step:prints-component=&prints-step=" ./app 1
expect 'it is one line' 0 \
    '{"time":"T","cluster":null,"user":"alice","job":17,"step":null,"component":0,"ranks":null,
        "node":"n1","nodes":0,"tasks":0,
        "image":{"path":"T/a","kind":"directory","modified":"T"},
        "runtime":{"path":"T/runtime","version":null},
        "mpi":{"mode":"off","type":null,"verdict":null},
        "shared":false,"apart":"the test says so","berth":"V"}' \
    sed -E 's/"[0-9-]+T[0-9:]+Z"/"T"/g; s/"berth":"[^"]*"/"berth":"V"/
        s/,"(node|image|runtime|mpi|shared)"/, "\1"/g' steps-alice-17
expect 'who does not speak for the component keeps none' 0 \
    'runs: 2' \
    with "image=$T/a;task:record=$T/none-%25j" ./app 2
expect 'the next record goes behind it' 0 \
    '2' \
    sh -c '"$@" >/dev/null; wc -l <steps-alice-17; ls none* 2>/dev/null || :' \
    sh env BERTH_TASK_ORDER="$(order \
    "image=$T/a;task:record=$T/steps-%25u-%25j;step:prints-component=&prints-step=")" "$task" ./app
expect 'a record that cannot be kept stops nothing' 0 \
    'runs: 3' \
    with "image=$T/a;task:record=/gone/steps;step:prints-component=&prints-step=" ./app 3
expect 'with -v it is said' 0 \
    "berth: n1: note: image 'T/a': a container for each of 1 task: the test says so
berth: n1: warning: no record is kept: provenance.file '/gone/steps': No such file or directory; ask
        the administrators to let you write there
runs: 3" \
    env SRUN_DEBUG=4 \
    BERTH_TASK_ORDER="$(order \
    "image=$T/a;task:record=/gone/steps;step:prints-component=&prints-step=")" "$task" ./app 3
ln -s steps-alice-17 link
expect 'a link is not followed' 0 \
    "berth: n1: note: image 'T/a': a container for each of 1 task: the test says so
berth: n1: warning: no record is kept: provenance.file 'T/link': it is a link, or not a file of
        yours or root's; ask the administrators to let you write there
runs: 3" \
    env SRUN_DEBUG=4 \
    BERTH_TASK_ORDER="$(order \
    "image=$T/a;task:record=$T/link;step:prints-component=&prints-step=")" "$task" ./app 3
mkfifo pipe
expect 'a pipe that nobody reads stops nothing' 0 \
    'runs: 4' \
    env BERTH_TASK_ORDER="$(order \
    "image=$T/a;task:record=$T/pipe;step:prints-component=&prints-step=")" timeout 600 "$task" \
    ./app 4
unset SLURM_JOB_ID SLURM_JOB_USER

# An mpirun of its own sees nothing of Slurm, and what is not its socket is not closed.
seen='env | grep -E "^(SLURM|PMI_|HYDRA)" | sort | tr "\n" " "; echo 9 is open >&9'
slurm='SLURM_JOB_ID=7 SLURM_ARRAY_TASK_ID=3 SLURM_PROCID=5 PMI_FD=9 HYDRA_BOOTSTRAP=slurm'
for mode in local local-each; do
    each=
    [ "$mode" = local ] || each=' SLURM_PROCID=5'
    # shellcheck disable=SC2086 # words
    expect "--mpi-bind=$mode: what an mpirun sees" 0 \
        "SLURM_ARRAY_TASK_ID=3$each 9 is open" \
        env $slurm BERTH_TASK_ORDER="$(order "image=$T/a&mpi-bind=$mode")" \
        sh -c '"$0" sh -c "$1" 9>&1' "$task" "$seen"
done
# shellcheck disable=SC2086
expect '--mpi-bind=local: what is asked for is passed' 0 \
    'SLURM_ARRAY_TASK_ID=3 SLURM_JOB_ID=7 9 is open' \
    env $slurm BERTH_TASK_ORDER="$(order "image=$T/a&mpi-bind=local&env=SLURM_JOB_ID")" \
    sh -c '"$0" sh -c "$1" 9>&1' "$task" "$seen"

# An mpirun on the nodes of a job needs an srun.
launch()
{
    expect "--mpi-bind=launch: $1" 1 \
        "berth: n1: --mpi-bind=launch: the image gets no srun, with which its mpirun starts daemons:
            $1; let srun start the ranks (--mpi-bind=hybrid), or stay on one node
            (--mpi-bind=local)" \
        env BERTH_TASK_ORDER="1;$2task:runtime=$runtime;request:image=$T/a&mpi-bind=launch$3;." \
        "$task" mpirun
}
launch 'berth run does not know the nodes of the job' '' ''
launch '--contain or --containall closes the container' 'step:nodes=1;' '&args=--contain'
export APPTAINER_CONTAINALL=1
launch '--contain or --containall closes the container' 'step:nodes=1;' ''
unset APPTAINER_CONTAINALL
launch 'the site denies it (inside: none)' 'step:nodes=1;terms:inside=none;' ''
launch 'each task has a container of its own' 'step:nodes=1;' ''

# What a task refuses that is in the image.
place='berth: n1:'
become() { "$inimage" become "$@"; }
expect 'a working directory that the image does not have' 1 \
    "$place --container-workdir=T/gone: No such file or directory; expected a directory of the image
        or of a mount" \
    become --workdir "$T/gone" ./app
printf '#!/bin/sh\n\necho "There is no runscript defined for this container\\n";\n' >none.1.x
printf '#!/bin/sh\necho "entry $*"\n' >entry.1.x
chmod +x none.1.x entry.1.x
expect 'an entry point' 0 'entry a  b' become --entrypoint "$T/entry.1.x" 'a  b'
expect 'an entry point that is tried' 0 '' become --try --entrypoint "$T/entry.1.x" a
for it in none.1.x gone.1.x; do
    for try in '' --try; do
        # shellcheck disable=SC2086 # a word or none
        expect "an image without an entry point: $it $try" 127 \
            "$place --container-entrypoint: the image has no entry point ('T/$it'); leave the option
                out, or build the image with one" \
            become $try --entrypoint "$T/$it" true
    done
done
expect 'a command that is not on the PATH' 127 \
    "$place command 'gone' is not on the image's PATH (/bin:/usr/bin), and not in the working
        directory; check the name, or give its path" \
    env PATH=/bin:/usr/bin:/proc/1/fd/7 "$inimage" become gone
printf '#!/bin/sh\necho "here: $0"\n' >here.1.x
mkdir path
printf '#!/bin/sh\necho "$0"\n' >path/both
cp here.1.x both
chmod +x here.1.x both path/both
expect 'a command in the working directory' 0 "here: T/here.1.x" \
    env PATH=/bin:/usr/bin "$inimage" become here.1.x
expect 'a command on the PATH, and in the working directory' 0 'T/path/both' \
    env PATH="/bin:$T/path" "$inimage" become both
mkdir plain
echo no >plain/both
expect 'a file that is not a program, before the command on the PATH' 0 'T/path/both' \
    env PATH="/bin:$T/plain:$T/path" "$inimage" become both
expect 'a file that is not a program, on the PATH alone' 126 \
    "$place command 'both' cannot be started (Permission denied);
        name a program, or make this one executable (chmod +x)" \
    env PATH="/bin:$T/plain" "$inimage" become both
printf '# ranks\n0-1,3 ./atm\n' >models
chmod -x models
mkfifo fifo
printf '%s\n' '# Title' '' '- a list' >list.md
for name in fifo list.md plain; do
    expect "what is not a list of programs: $name" 126 \
        "$place command './$name' cannot be started (Permission denied);
            name a program, or make this one executable (chmod +x)" \
        timeout 10 "$inimage" become "./$name"
done
expect 'a file of --multi-prog as the command' 126 \
    "$place command 'models' cannot be started (Permission denied); it lists programs for ranks:
        write --multi-prog before it" \
    env PATH=/bin "$inimage" become models
expect 'a variable in the place of the command' 127 \
    "$place command 'B_2=1 2' is not in the image; it sets a variable: write --container-env=A=1,B=2
        before the command" \
    env PATH=/nowhere "$inimage" become 'B_2=1 2' ./app
expect 'a variable with a path as its value' 127 \
    "$place command 'X=/a/b' is not in the image; it sets a variable: write --container-env=A=1,B=2
        before the command" \
    env PATH=/nowhere "$inimage" become X=/a/b ./app
expect 'a command that begins with a digit is not a variable' 127 \
    "$place command '2=3' is not on the image's PATH (/nowhere), and not in the working directory;
        check the name, or give its path" \
    env PATH=/nowhere "$inimage" become 2=3
# The runscript of an image may know the command.
cat >conda <<'END'
#!/bin/sh
. /opt/conda/etc/profile.d/conda.sh
exec "$@"
END
printf '#!/bin/sh\nOCI_ENTRYPOINT=\047"/init"\047\nOCI_CMD=\047\047\nexec "$@"\n' >oci
for script in conda oci; do
    expect "a command that the runscript may find: $script" 127 \
        "$place command 'nc-config' is not on the image's PATH (/nowhere), and not in the working
            directory; check the name, give its path, or use --container-entrypoint: the image's
            runscript may set the PATH" \
        env PATH=/nowhere "$inimage" become --runscript "$T/$script" nc-config
done
printf '#!/bin/sh\n# nothing\n\nexec "$@"\n' >'exec'
printf '#!/bin/sh\nset -e\necho runs by itself "$@"\n' >own
printf '#!/bin/sh\nOCI_ENTRYPOINT=\047\047\nOCI_CMD=\047"/bin/sh"\047\ncd /\nexec "$@"\n' >none
for script in exec own none gone; do
    expect "a runscript that does not help: $script" 127 \
        "$place command 'nc-config' is not on the image's PATH (/nowhere), and not in the working
            directory; check the name, or give its path" \
        env PATH=/nowhere "$inimage" become --runscript "$T/$script" nc-config
done
expect 'a variable that nothing expands' 127 \
    "$place command '\$EXE' is not in the image; Slurm and berth expand no variables: write its
        value" \
    env PATH=/bin "$inimage" become '$EXE'
expect 'another command of Slurm' 127 \
    "$place command 'sbatch' is not on the image's PATH (/nowhere); start it on the host, or ask the
        administrators for \`inside: all\`" \
    env PATH=/nowhere "$inimage" become sbatch x.sh
expect 'a command of Slurm by its path on the host' 127 \
    "$place command '/opt/slurm/bin/sbatch' is not in the image; start it on the host, or ask the
        administrators for \`inside: all\`" \
    env PATH=/nowhere "$inimage" become /opt/slurm/bin/sbatch x.sh
expect 'a command of the host by its path, which the container has by its name' 127 \
    "$place command '/opt/slurm/bin/app' is not in the image; write app, which runs the host's" \
    env PATH=/nowhere BERTH_INSIDE_PATH="$T" "$inimage" become /opt/slurm/bin/app \
    "$place command 'host' is not in the image; write a value of --mpi-bind after an equals sign" \
    env PATH=/nowhere "$inimage" become host mpiring
expect 'a command in quotes' 127 \
    "$place command 'ls -l /' is not in the image; it has blanks: leave the quotes out" \
    env PATH=/bin:/usr/bin "$inimage" become 'ls -l /'
expect 'a command that is not there' 127 \
    "$place command './gone' is not in the image; check the path, or mount it
        (--container-mounts)" \
    become ./gone
expect 'a command without its interpreter' 127 \
    "$place command './lost-interpreter' cannot be started (No such file or directory); the
        interpreter of its #! line, or its loader, is not in the image: mount or install it" \
    become ./lost-interpreter
expect 'such a command, on the PATH' 127 \
    "$place command 'lost-interpreter' cannot be started (No such file or directory); the
        interpreter of its #! line, or its loader, is not in the image: mount or install it" \
    env PATH="$T:/bin:/usr/bin" "$inimage" become lost-interpreter
expect 'a script from Windows' 127 \
    "$place command './windows' cannot be started (No such file or directory); its #! line ends as
        in Windows: convert it (dos2unix)" \
    become ./windows
expect 'a script that names no interpreter' 126 \
    "$place command './no-interpreter' cannot be started (Exec format error); build it for this
        machine, or write #!/bin/sh at its top" \
    become ./no-interpreter
expect 'a command that is no program' 126 \
    "$place command './no-program' cannot be started (Permission denied);
        name a program, or make this one executable (chmod +x)" \
    become ./no-program
# The working directory, if nobody asks for one.
gone="note: the working directory '/gone' is not in the container (No such file or directory); the
        command starts in"
rest='mount yours (--container-mounts=/gone), or name another (--container-workdir=DIR)'
expect 'the container lacks the directory of the task' 0 "$gone '/': $rest
/ /" become --stay /gone sh -c 'echo "$(pwd -P) $PWD"'
expect '... and the image has one' 0 "$gone 'T/a', the image's: $rest
T/a T/a" become --stay /gone --image-directory "$T/a" sh -c 'echo "$(pwd -P) $PWD"'
expect '... which is not there' 0 "$gone '/': $rest
/" become --stay /gone --image-directory "$T/none" pwd
expect 'the directory of the task comes first' 0 'T' become --stay "$T" --image-directory "$T/a" pwd
expect '... unless that of the image does' 0 'T/a' become --prefers --stay "$T" --image-directory \
    "$T/a" pwd
expect '... and is there' 0 'T' become --prefers --stay "$T" --image-directory "$T/none" pwd
expect '--container-workdir wins' 0 'T/a' become --prefers --workdir "$T/a" --image-directory / \
    --stay / pwd
expect 'a command that is in the lacking directory' 127 "$gone '/': $rest
berth: n1: command './app' is not in the image; check the path, or mount it (--container-mounts)" \
    become --stay /gone ./app
for it in '127 ./gone is not in the image; check the path, or mount it (--container-mounts)' \
    '126 ./no-program cannot be started (Permission denied);
        name a program, or make this one executable (chmod +x)'; do
    rest=${it#* }
    expect "what an account tries: $it" "${it%% *}" "$place command '${rest%% *}' ${rest#* }" \
        become --try "${rest%% *}"
done
expect 'an account tries, and runs nothing' 0 '' become --try ./app
expect 'berth-mpi by hand' 1 \
    'berth-mpi: wrong arguments; only berth-start can start this program' \
    "$mpi"
expect 'berth-init by hand' 1 \
    'berth: berth-init: wrong arguments; only berth-start can start this program' \
    "$init"
for words in '--colour red' '--hold 4 5' '--hold 4 5 6' '--hold 4 5 6 7 8'; do
    # shellcheck disable=SC2086 # words
    expect "berth-init with unknown words: $words" 1 \
        'berth: berth-init: wrong arguments; only berth-start can start this program' \
        "$init" $words
done

finish
