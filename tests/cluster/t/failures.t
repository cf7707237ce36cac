#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Everything that goes wrong: the user gets one line from each node that names the fault
# and a remedy, srun does not end with 0, no task runs on the host, no node is drained.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b noshell mpich

A=/images/a.sif
small=/images/noshell.sif
IMAGE=--container-image=$A
MISSING=--container-image=/srv/nowhere/x.sif
two="srun -w n1,n2 -N2 --ntasks-per-node=4 --kill-on-bad-exit=0"
conf=/etc/slurm/plugstack.conf.d/berth.conf

# What every task does: /shared is on all hosts and in no image, so that only a task on
# the host can leave its mark there.
probe='{ echo x >/shared/on-host; } 2>/dev/null; echo ran'

script attempt <<'SCRIPT'
#!/bin/bash
next() { if [ "$COUNT" ]; then scontrol show config | sed -n 's/^NEXT_JOB_ID *= *//p'; fi; }
rm -f /shared/on-host
first=$(next)
SECONDS=0
timeout -k 10 120 "$@" 2>&1 </dev/null
status=$?
[ -e /shared/on-host ] && mark=host || mark=
printf '\n@%s %s %s %s\n' "$status" $(($(next) - first)) "$SECONDS" "$mark"
SCRIPT

# attempt COMMAND...: alice runs it on the login node. Sets seen, status, jobs (how many
# were created, if `counting` is set), seconds and host (not empty: something ran on a host).
attempt() {
    local last
    seen=$(on login alice env COUNT="${counting-}" ./attempt "$@" 2>&1)
    last=${seen##*$'\n@'}
    seen=${seen%$'\n@'*}
    seen=${seen%$'\n'}
    read -r status jobs seconds host <<<"$last"
}

# command ARGS...: a step on two nodes with the usual task, unless ARGS end with their
# own command behind `--`.
command_line() {
    local word
    # shellcheck disable=SC2206
    line=($two "$@")
    for word; do [[ $word != -- ]] || return; done
    line+=(sh -c "$probe")
}

# verdict TITLE PROBLEMS
verdict() {
    if [[ -z $2 ]]; then
        result ok "$1"
    else
        result FAIL "$1" "${line[*]@Q}"$'\n'"$2exit $status, $jobs new jobs, $seconds s"$'\n'"$seen"
    fi
}

# judge_node TITLE NODES PATTERN RAN: what attempt saw is one line from each of NODES, and
# nothing else but srun's own words and `ran` from RAN tasks.
judge_node() {
    local said bad='' it
    local -i ran
    said=$(sed -nE 's/^berth: ([^:]*): .*/\1/p' <<<"$seen" | sort | paste -sd' ')
    ran=$(grep -c '^ran$' <<<"$seen")
    ((status != 0)) || bad+=$'the exit status is 0\n'
    ((status != 124 && seconds < 40)) || bad+=$'it hangs\n'
    [[ $said == "$2" ]] || bad+="lines from '$said', expected '$2'"$'\n'
    ((ran == $4)) || bad+="$ran tasks ran, expected $4"$'\n'
    [[ -z $host ]] || bad+=$'a task ran on the host\n'
    while IFS= read -r it; do
        [[ $it =~ $3 ]] || bad+="the line does not match ${3@Q}"$'\n'
        [[ $it =~ ^berth:\ [^:]+:\ .+(\;\ |expected\ ).+ ]] || bad+=$'not NODE: PLACE: WHAT; REMEDY\n'
    done < <(grep '^berth: ' <<<"$seen")
    it=$(grep -vE '^(berth: |srun: |ran$|$|slurmstepd(-n.)?: error: \*\*\* STEP )' <<<"$seen")
    [[ -z $it ]] || bad+="more lines: $it"$'\n'
    it=$(grep -E '^srun: error: berth' <<<"$seen")
    [[ -z $it ]] || bad+="said at submission: $it"$'\n'
    verdict "$1" "$bad"
}

# refused TITLE PATTERN ARGS...: both nodes refuse the step.
refused() {
    command_line "${@:3}"
    attempt "${line[@]}"
    judge_node "$1" "n1 n2" "$2" 0
}

# half_refused TITLE PATTERN ARGS...: n2 does, and the tasks of n1 run.
half_refused() {
    command_line "${@:3}"
    attempt "${line[@]}"
    judge_node "$1" n2 "$2" 4
}

# runs TITLE RAN HOST ARGS...: nothing is wrong. RAN tasks run, on the host if HOST is so.
runs() {
    local bad='' it
    command_line "${@:4}"
    attempt "${line[@]}"
    ((status == 0)) || bad+=$'the exit status is not 0\n'
    it=$(grep -c '^ran$' <<<"$seen")
    ((it == $2)) || bad+="$it tasks ran, expected $2"$'\n'
    [[ $host == "$3" ]] || bad+="ran on '$host', expected '$3'"$'\n'
    it=$(grep -vE '^(ran$|$|srun: job [0-9]+ (queued|has been))' <<<"$seen")
    [[ -z $it ]] || bad+="more lines: $it"$'\n'
    verdict "$1" "$bad"
}

# refused_here TITLE PATTERN COMMAND...: refused before anything is allocated.
refused_here() {
    local bad='' counting=yes
    line=("${@:3}")
    attempt "${line[@]}"
    ((status == 1)) || bad+="the exit status is $status, expected 1"$'\n'
    ((jobs == 0)) || bad+=$'a job was created\n'
    [[ -z $host ]] || bad+=$'a task ran on the host\n'
    [[ $seen != *$'\n'* ]] || bad+=$'more than one line\n'
    [[ $seen =~ $2 ]] || bad+="the line does not match ${2@Q}"$'\n'
    [[ $seen =~ ^(srun|sbatch|salloc):\ error:\ berth:\ .+(\;\ |expected\ ).+ ]] ||
        bad+=$'not berth: PLACE: WHAT; REMEDY\n'
    verdict "$1" "$bad"
}

# wrong TITLE PATTERN OPTION...: refused_here for srun.
wrong() {
    # shellcheck disable=SC2086
    refused_here "$1" "$2" $two "${@:3}" sh -c "$probe"
}

# What a test changes on a host is put back, whatever happens.
undo=()
put_back() {
    local it
    for ((it = ${#undo[@]} - 1; it >= 0; it--)); do
        on "${undo[it]%%|*}" root bash -c "${undo[it]#*|}"
    done
    undo=()
}
trap put_back EXIT

# spoil HOST COMMAND BACK
spoil() {
    undo+=("$1|$3")
    on "$1" root bash -c "$2"
}

# hide HOST PATH...: as if it had never been installed there.
hide() {
    local host=$1 path
    shift
    for path; do
        on "$host" root test -e "$path" || continue
        spoil "$host" "mv '$path' '$path.hidden'" "mv -f '$path.hidden' '$path'"
    done
}

# hosts_conf TEXT HOST...: the plugstack line of these hosts; their own comes back later.
hosts_conf() {
    local text=$1 it
    shift
    for it; do
        spoil "$it" "[ -e $conf.was ] || cp $conf $conf.was; echo '$text' >$conf" \
            "[ ! -e $conf.was ] || mv -f $conf.was $conf"
    done
}

# site_conf TEXT HOST...: berth.yaml of these hosts; their own comes back later.
site_conf() {
    local text=$1 it file=/etc/slurm/berth.yaml
    shift
    for it; do
        spoil "$it" "[ -e $file.was ] || ! [ -e $file ] || cp $file $file.was" \
            "rm -f $file; [ ! -e $file.was ] || mv -f $file.was $file"
    done
    site "$@" <<<"$text"
}

plugin=$(on n1 root sed -n 's/^required //p' "$conf") # and its words
libexec=$(on n1 root find /usr/libexec/berth /usr/lib/berth /usr/local/libexec/berth -name berth-task -printf %h 2>/dev/null)

echo "# nothing wrong"
runs "a step in an image runs" 8 "" "$IMAGE"
runs "a step without options runs on the host" 8 host
runs "the image on a command line twice is one image" 8 "" "$IMAGE" "$IMAGE"

# Wrong images: in DIR of HOST.
make_bad() {
    on "$1" root bash -c "
        mkdir -p '$2' && cd '$2' || exit 1
        printf 'hello, I am a text of some length\n%.0s' {1..50} >text.sif
        : >empty.sif
        for n in 1 40 127 128 4000 4200 20000 30000 100000; do
            head -c \$n $small >cut\$n.sif
        done
        head -c -1 $small >cutlast.sif
        cp $small arch.sif && printf 04 | dd of=arch.sif bs=1 seek=45 conv=notrunc status=none
        cp text.sif mode.sif && chmod 000 mode.sif
        mkdir -p -m 700 bobs && cp $small bobs/a.sif && chown -R bob: bobs
        mkdir -p bobsroot/bin && chmod 700 bobsroot && chown -R bob: bobsroot
        mkfifo fifo.sif
        mkdir -p noroot && echo x >noroot/readme
        mkdir -p emptyroot
        ln -sf nowhere.sif broken.sif
        ln -sf loop.sif loop.sif
    "
}
make_bad login /srv/both &
for node in n1 n2; do
    make_bad "$node" /srv/both &
    make_bad "$node" /srv/nodes &
done
wait

# Rows: file | what the line says.
images=(
    "text.sif|not an image; expected a SIF file"
    "mode.sif|you may not read it; ask its owner"
    "empty.sif|the file is empty; copy it again"
    "cut1.sif|not an image; expected a SIF file"
    "cut40.sif|not an image; expected a SIF file"
    "cut127.sif|not an image"
    "cut128.sif|the file is cut short; copy it again"
    "cut4000.sif|the file is cut short; copy it again"
    "cut4200.sif|the file is cut short; copy it again"
    "cut20000.sif|the file is cut short; copy it again"
    "cut30000.sif|the file is cut short; copy it again"
    "cut100000.sif|the file is cut short; copy it again"
    "cutlast.sif|the file is cut short; copy it again"
    "bobs/a.sif|you may not read it; ask its owner"
    "bobsroot|you may not (read it|enter the directory); ask its owner"
    "fifo.sif|neither a file nor a directory; expected"
    "noroot|the directory holds no root file system .*; expected a sandbox"
    "emptyroot|the directory holds no root file system .*; expected a sandbox"
    "loop.sif|cannot be opened: Too many levels of symbolic links; "
)
[[ $complete ]] || images=("${images[@]:0:2}")
echo "# wrong images, seen at submission"
for row in "${images[@]}"; do
    path=/srv/both/${row%%|*}
    wrong "image, here: ${row%%|*}" "image '$path': .*(${row#*|})" "--container-image=$path"
done
wrong "image, here: /dev/null" "image '/dev/null': neither a file" --container-image=/dev/null
wrong "image, here: a directory of no root (/proc/self)" "no root file system" \
    --container-image=/proc/self

wrong "image of a registry without its scheme" "not found; for .* write docker://ubuntu:22.04$" \
    --container-image=ubuntu:22.04

echo "# wrong images, seen by the nodes only"
for row in "${images[@]}" \
    "arch.sif|it is for aarch64 and this machine is x86_64; use an image for x86_64" \
    "nowhere.sif|not found; check the path" \
    "broken.sif|not found; check the path" \
    "text.sif/x|not found; check the path"; do
    path=/srv/nodes/${row%%|*}
    refused "image, on the nodes: ${row%%|*}" "image '$path': .*(${row#*|})" \
        "--container-image=$path"
done
refused "image, relative, not there" "image '/home/alice/nowhere.sif': not found" \
    --container-image=nowhere.sif
refused "image of another machine, on all hosts: the nodes decide" "it is for aarch64 and this" \
    --container-image=/srv/both/arch.sif
refused "image, a broken link on all hosts" "image '/srv/both/broken.sif': not found" \
    --container-image=/srv/both/broken.sif

echo "# on one of two nodes"
spoil n1 "mkdir -p /srv/one && cp $A /srv/one/a.sif" "rm -rf /srv/one"
half_refused "image only on n1: its tasks run, srun fails" \
    "image '/srv/one/a.sif': not found" --container-image=/srv/one/a.sif
half_refused "mount source only on n1" "--container-mounts: '/srv/one': No such file" \
    "$IMAGE" --container-mounts=/srv/one
hide n2 /usr/bin/apptainer /usr/bin/singularity /usr/local/bin/apptainer \
    /usr/local/bin/singularity /opt/apptainer/bin/apptainer
half_refused "no runtime on n2" "container runtime: neither apptainer nor singularity" "$IMAGE"
put_back
if [[ -n $libexec ]]; then
    hide n2 "$libexec/berth-init"
    half_refused "no berth-init on n2" "berth-init': No such file.*; berth is incomplete" "$IMAGE"
    put_back
    hide n2 "$libexec/berth-task"
    half_refused "no berth-task on n2" "berth-task.*No such file.*; berth is incomplete" "$IMAGE"
    put_back
fi

# told TITLE LINE ARGS...: srun -v says LINE once for each of both nodes, and how long
# serving the image took.
told() {
    command_line -v "${@:3}"
    attempt "${line[@]}"
    equal "$1" "berth: n1: note: image '$A': $2"$'\n'"berth: n2: note: image '$A': $2" "$(grep '^berth: ' <<<"$seen" | grep -v ": serving it took " | sort)"
}
help=$(alice srun --help | sed -n '/provided by plugins/,/^GPU/p')
equal "srun --help: the rows of berth" 16 "$(grep -cE '^ +--' <<<"$help")"
equal "srun --help: its lines fit" "" "$(grep -E '.{81}' <<<"$help")"

echo "# how many containers there are, with -v"
told "-v: one container" "one container for 4 tasks" "$IMAGE"
told "-v: --container-args=--pid" \
    "a container for each of 4 tasks: the container has a process namespace" \
    "$IMAGE" --container-args=--pid

echo "# a runtime that does not start"
other=/usr/local/bin/$runtime_name
for node in n1 n2; do
    spoil "$node" "cat >$other <<'END'
#!/bin/sh
echo 'FATAL:   container creation failed: no luck' >&2
echo 'FATAL:   while doing nothing' >&2
exit 255
END
chmod 755 $other" "rm -f $other"
done
command_line "$IMAGE"
attempt "${line[@]}"
equal "runtime fails: srun fails, and nothing runs" "yes 0 " \
    "$( ((status)) && echo yes) $(grep -c '^ran$' <<<"$seen") $host"
equal "runtime fails: its words come once from each node" 2 "$(grep -c 'no luck' <<<"$seen")"
put_back
for node in n1 n2; do
    spoil "$node" "printf '#!/bin/sh\nsleep 50 & wait\n' >$other
        chmod 755 $other" "rm -f $other"
done
site_conf "runtime:"$'\n'"  start_timeout: 2" n1 n2
refused "runtime hangs: said once by each node" \
    "image '$A': the container did not start within 2 seconds; ask the administrators" \
    "$IMAGE"
sleep 1
equal "... and nothing is left of it" "no no" \
    "$(for node in n1 n2; do on "$node" root pgrep -u alice . >/dev/null && echo yes || echo no; done | paste -sd' ')"
put_back
for node in n1 n2; do
    spoil "$node" "printf '#!/no/such/interpreter\n' >$other
        chmod 755 $other" "rm -f $other"
done
refused "runtime without its interpreter" \
    "$other.*: No such file or directory; " "$IMAGE"
put_back
spoil n2 "chmod 000 /dev/fuse" "chmod 666 /dev/fuse"
command_line "$IMAGE"
attempt "${line[@]}"
equal "no permission for /dev/fuse on n2: said once, and n1 runs" "yes 1 4 " \
    "$( ((status)) && echo yes) $(grep -c 'fuse.*Permission denied' <<<"$seen") $(grep -c '^ran$' <<<"$seen") $host"
put_back

echo "# commands and directories in the image"
on login alice bash -c 'mkdir -p plain; echo data >data; chmod 644 data
    printf "#!/no/such/interpreter\n" >noint; printf "echo ran\n" >nohead
    chmod 755 noint nohead'
for node in n1 n2; do
    spoil "$node" "printf '#!/bin/sh\n%s\n' '$probe' >/usr/local/bin/hostonly
        chmod 755 /usr/local/bin/hostonly; mkdir -p /srv/cwd" "rm -f /usr/local/bin/hostonly"
done
runs "a command of the host, on the host" 8 host -- hostonly
# The words of srun itself: no `--` between them and the command.
in_image() { refused "$1" "$2" "$IMAGE" "${@:3}"; }
in_image "command not on PATH" \
    "image '$A': command 'hostonly' is not on the image's PATH .*; check the name" -- hostonly
status_is() { equal "$1" "$2" "$status"; }
status_is "... srun ends with 127" 127
in_image "command by path, not in the image" \
    "command '/usr/local/bin/hostonly' is not in the image; check the path" \
    -- /usr/local/bin/hostonly
status_is "... srun ends with 127" 127
in_image "command not executable" "command '/home/alice/data' cannot be executed: .*; " \
    -- /home/alice/data
status_is "... srun ends with 126" 126
in_image "command is a directory" "command '/home/alice/plain' cannot be executed: .*; " \
    -- /home/alice/plain
status_is "... srun ends with 126" 126
in_image "interpreter of a script missing" \
    "command '/home/alice/noint' is there, but not the interpreter.*; " -- /home/alice/noint
status_is "... srun ends with 127" 127
# noted LIBRARIES OPTION...: how many notes two tasks of a node print that end with 127.
noted() {
    alice env LD_LIBRARY_PATH="$1" srun -N1 -n2 "$IMAGE" "${@:2}" sh -c 'exit 127' 2>&1 |
        grep -c "n[0-9]: note: LD_LIBRARY_PATH of the host is not passed to the image"
}
equal "the lost libraries of a task that cannot be loaded" 1 "$(noted /opt/lib)"
equal "... not if they are not lost" 0 "$(noted /opt/lib --container-env=LD_LIBRARY_PATH)"
# changed COMMANDS: how many lines of a step on two nodes tell that its file is changed.
changed() {
    alice cp "$A" mine.sif
    alice srun -N2 -n2 --container-image=/home/alice/mine.sif --container-mount-home \
        sh -c "cd; sleep 1; $1" 2>&1 | grep -c "n[0-9]: an image file was changed while the step ran"
    alice rm mine.sif
}
equal "somebody writes into the image file" 2 "$(changed 'echo >>mine.sif; exit 3')"
equal "... and no task has failed" 0 "$(changed 'echo >>mine.sif')"
# shellcheck disable=SC2016 # the tasks' variable
equal "somebody replaces the image file" 0 \
    "$(changed 'cp mine.sif my.$SLURM_PROCID; mv my.$SLURM_PROCID mine.sif; exit 3')"
in_image "workdir missing" "--container-workdir: '/no/dir': No such file.*; expected" \
    --container-workdir=/no/dir
status_is "... srun ends with 1" 1
in_image "workdir is a file" "--container-workdir: '/etc/passwd': Not a directory; expected" \
    --container-workdir=/etc/passwd
in_image "workdir not to be entered" "--container-workdir: '/mnt/bobs': Permission denied; expected" \
    --container-mounts=/srv/nodes:/mnt --container-workdir=/mnt/bobs
in_image "cwd not in the image" \
    "the working directory '/srv/cwd' is not in the image: .*; mount it" --chdir=/srv/cwd \
    --container-args=--no-mount=cwd
in_image "no home, and it is the cwd" \
    "the working directory '/home/alice' is not in the image: .*; mount it" \
    --no-container-mount-home
in_image "mount source missing" \
    "--container-mounts: '/srv/nowhere': No such file or directory; expected" \
    --container-mounts=/srv/nowhere:/mnt
in_image "mount source missing, the second" "'/srv/nowhere': No such file" \
    --container-mounts=/srv/cwd:/mnt,/srv/nowhere
in_image "mount source relative, missing" "'/home/alice/nowhere': No such file" \
    --container-mounts=nowhere:/mnt
in_image "mount of a directory over a file" "did not start it: .*; mount a directory over a directory" \
    --container-mounts=/srv/cwd:/bin/cat
in_image "a squashfs file that is none" "'/srv/cwd' is not a squashfs file; make one with 'mksquashfs DIR FILE'" \
    --container-mounts=/srv/cwd:/mnt:sqsh
printf 'hsqs%0200d' 0 | on login alice sh -c 'cat >cut.sqsh'
in_image "a squashfs file that is cut off" "did not start it: .*; make that squashfs file again" \
    --container-mounts=cut.sqsh:/mnt:sqsh
if [[ $release == trixie ]]; then # where the host's C library is not the image's
    matches "the host's libraries beside the image's, by a variable" \
        "--mpi-bind=host: LD_LIBRARY_PATH puts '/host/lib/libc.so.6' before the C library of the image, whose loader cannot use it; unset APPTAINERENV_LD_LIBRARY_PATH, or take that directory out of it" \
        "$(alice env APPTAINER_BIND=/usr/lib/x86_64-linux-gnu:/host/lib APPTAINERENV_LD_LIBRARY_PATH=/host/lib \
            srun -n1 --mpi=pmi2 --container-image=/images/mpich.sif --mpi-bind=host mpiring 2>&1)"
fi
in_image "a word for the runtime that is no flag" "did not start it: .*; look in --container-args for a word" \
    --container-args="--cleanenv nv"
in_image "an MPI that the host does not have" "no MPI called 'none'; .*expected one of them, or auto" \
    --mpi-bind=none
in_image "an mpirun beside srun" "each of the 8 tasks would start 'mpirun'; leave the mpirun out" \
    --mpi-bind=host -- mpirun true
in_image "mount source of bob" "--container-mounts: '/srv/nodes/bobs/a.sif': Permission denied; " \
    --container-mounts=/srv/nodes/bobs/a.sif:/mnt/x
echo "0-7 hostonly" | on login alice bash -c 'cat >hostonly.conf'
in_image "several tasks with --multi-prog" "command 'hostonly' is not on" \
    --multi-prog -- hostonly.conf
put_back

echo "# options"
# Rows: what the line says | the words, with single spaces between them.
options=(
    "--container-image: the value is empty|--container-image="
    "--container-mounts: the value is empty|$IMAGE --container-mounts="
    "--container-workdir: the value is empty|$IMAGE --container-workdir="
    "--container-env: the value is empty|$IMAGE --container-env="
    "--container-args: the value is empty|$IMAGE --container-args="
    "--container-mounts: '/a:b': 'b' is not a place|$IMAGE --container-mounts=/a:b"
    "--container-mounts: '/a:/b:xx': 'xx' is not a mount mode|$IMAGE --container-mounts=/a:/b:xx"
    "--container-mounts: '/a:/b:': '' is not a mount mode|$IMAGE --container-mounts=/a:/b:"
    "--container-mounts: '/a:/b:ro:z' is not a mount|$IMAGE --container-mounts=/a:/b:ro:z"
    "--container-mounts: '/a::ro' is not a mount|$IMAGE --container-mounts=/a::ro"
    "--container-mounts: ':/b' is not a mount|$IMAGE --container-mounts=:/b"
    "--container-mounts: ':' is not a mount|$IMAGE --container-mounts=:"
    "--container-mounts: '' is not a mount|$IMAGE --container-mounts=/a,"
    "--container-mounts: '' is not a mount|$IMAGE --container-mounts=,/a"
    "--container-mounts: '/c:d': 'd' is not a place|$IMAGE --container-mounts=/a:/b,/c:d"
    "--container-workdir: 'x' is not absolute|$IMAGE --container-workdir=x"
    "--container-workdir: given twice, '/tmp' and '/var'|$IMAGE --container-workdir=/tmp --container-workdir=/var"
    "--container-env: '=x' is not a variable|$IMAGE --container-env==x"
    "--container-env: '1A=x' is not a variable|$IMAGE --container-env=1A=x"
    "--container-env: 'A-B=x' is not a variable|$IMAGE --container-env=A-B=x"
    "--container-env: '' is not a variable|$IMAGE --container-env=A=x,"
    "--container-env: '' is not a variable|$IMAGE --container-env=,"
    "given together with its opposite|$IMAGE --container-mount-home --no-container-mount-home"
    "given together with its opposite|$IMAGE --no-container-mount-home --container-mount-home"
    "--container-image: '~/a.sif': neither the shell nor Slurm expands '~' here|--container-image=~/a.sif"
    "--container-mounts: .*'[$]HOME': neither the shell nor Slurm expands '[$]' here|$IMAGE --container-mounts=\$HOME:/x"
    "--container-mounts: '/home:/': the image itself is at /|$IMAGE --container-mounts=/home:/"
    "--container-image: given twice, '$A' and '/images/b.sif'|$IMAGE --container-image=/images/b.sif"
    "--container-image: given twice, '$A' and 'none'|$IMAGE --container-image=none"
    "--container-image: given twice, 'none' and '$A'|--container-image=none $IMAGE"
    "'shub://x/y': cannot be pulled; expected docker://|--container-image=shub://x/y"
    "'file:///images/a.sif': cannot be pulled|--container-image=file:///images/a.sif"
    "--container-mounts: it needs an image; add --container-image|--container-mounts=/a"
    "--container-workdir: it needs an image; add --container-image|--container-workdir=/a"
    "--container-mount-home: it needs an image; add --container-image|--container-mount-home"
    "--no-container-mount-home: it needs an image; add --container-image|--no-container-mount-home"
    "--container-writable: it needs an image; add --container-image|--container-writable"
    "--container-entrypoint: it needs an image; add --container-image|--container-entrypoint"
    "--container-env: it needs an image; add --container-image|--container-env=A"
    "--container-args: it needs an image; add --container-image|--container-args=--nv"
    "=none: the other container options mean nothing|--container-image=none --container-mounts=/a"
    "=none: the other container options mean nothing|--container-image=none --container-workdir=/a"
    "=none: the other container options mean nothing|--container-image=none --container-mount-home"
    "=none: the other container options mean nothing|--container-image=none --no-container-mount-home"
    "=none: the other container options mean nothing|--container-image=none --container-writable"
    "=none: the other container options mean nothing|--container-image=none --container-entrypoint"
    "=none: the other container options mean nothing|--container-image=none --container-env=A"
    "=none: the other container options mean nothing|--container-image=none --container-args=--nv"
)
[[ $complete ]] || options=("${options[@]:0:2}")
for row in "${options[@]}"; do
    read -ra words <<<"${row#*|}"
    wrong "options: ${row#*|}" "${row%%|*}" "${words[@]}"
done
printf -v long '%70000s' ''
wrong "options longer than 64 KiB" "take [0-9]+ bytes; at most 65536" \
    "$IMAGE" "--container-env=A=${long// /x}"
for word in mount-home writable entrypoint; do
    counting=yes attempt srun "$IMAGE" --container-$word=x true
    equal "options: --container-$word=x is refused by Slurm" "yes 0 " \
        "$( ((status)) && echo yes) $jobs $host"
done
refused_here "the second component is wrong" "container-workdir: 'x' is not absolute" \
    srun -N1 "$IMAGE" true : -N1 "$IMAGE" --container-workdir=x true
refused_here "sbatch with a wrong option" "--container-workdir: 'x' is not absolute" \
    sbatch -N2 "$IMAGE" --container-workdir=x --wrap=true
refused_here "sbatch with a wrong image" "image '/srv/both/text.sif': not an image" \
    sbatch -N2 --container-image=/srv/both/text.sif --wrap=true
refused_here "salloc with a wrong option" "--container-env: '1' is not a variable" \
    salloc -N2 "$IMAGE" --container-env=1 true
refused_here "salloc -Q with a wrong option" "--container-env: '1' is not a variable" \
    salloc -Q -N2 "$IMAGE" --container-env=1 true
refused_here "srun -Q with a wrong option" "--container-env: '1' is not a variable" \
    srun -Q -N2 "$IMAGE" --container-env=1 true
script wrong.sh <<'SCRIPT'
#!/bin/sh
#SBATCH -N2 --container-image=file:///images/a.sif
true
SCRIPT
refused_here "#SBATCH with a wrong option" "cannot be pulled; expected" sbatch ./wrong.sh
command_line "$IMAGE" --container-args=--no-such-flag
attempt "${line[@]}"
equal "a flag that the runtime does not know: said once by each node" "yes 2 0 " \
    "$( ((status)) && echo yes) $(grep -c 'unknown flag: --no-such-flag' <<<"$seen") $(grep -c '^ran$' <<<"$seen") $host"

echo "# forged and corrupt tables"
# with VARIABLE=VALUE... -- ARGS...: the usual step with variables of the caller.
with() {
    local variables=()
    while [[ $1 != -- ]]; do
        variables+=("$1")
        shift
    done
    shift
    command_line "$@"
    line=(env "${variables[@]}" "${line[@]}")
    attempt "${line[@]}"
}
tables=(junk 1 '1;.' '1;0:image=%;.' '1;*;.' '1;x:image=/x;.' '1;-1:image=/x;.' '1;*:color=red;.'
    '1;*:image=x;.' '1;*:image;.' '2;*:image=/x;.' '1;*:image=/images/a.sif' '%%%')
[[ $complete ]] || tables=(junk '1;*:image=/images/a.sif')
for table in "${tables[@]}"; do
    with "SLURM_BERTH_STEP=$table" --
    equal "srun forgets the table '$table' that it inherits, and runs on the host" "0 8 host" \
        "$status $(grep -c '^ran$' <<<"$seen") $host"
    refused "a corrupt table on the nodes: '$table'" "SLURM_BERTH_STEP: .*; " \
        "--export=ALL,SLURM_BERTH_STEP=$table"
    runs "srun puts its own table over '$table' from --export" 8 "" \
        "--export=ALL,SLURM_BERTH_STEP=$table" "$IMAGE"
done
with "SLURM_BERTH_STEP=1;*:image=/images/b.sif;." -- "$IMAGE" -- cat /etc/berth-image
equal "srun puts its own table over an inherited one" "0 8" "$status $(grep -c '^a$' <<<"$seen")"
with "SLURM_BERTH_STEP=1;*:image=/images/b.sif;." --
equal "no options and a good forged table: on the host" "0 8 host" \
    "$status $(grep -c '^ran$' <<<"$seen") $host"
for table in junk '' '1;.' '1;0:image=/x;1:image=/y;.' '1;*:color=red;.' '1;*:image=/x'; do
    refused_here "a corrupt default: '$table'" "SLURM_BERTH_JOB: .*; " \
        env "SLURM_BERTH_JOB=$table" srun -N1 "$IMAGE" true
done
script prolog.sh <<'SCRIPT'
#!/bin/sh
echo export SLURM_BERTH_STEP=junk
SCRIPT
runs "a task prolog that sets the table changes nothing" 8 "" "$IMAGE" \
    --task-prolog=/home/alice/prolog.sh
script prolog.sh <<'SCRIPT'
#!/bin/sh
echo export BERTH_TASK_ORDER=junk
SCRIPT
refused "a task prolog that sets the order" "BERTH_TASK_ORDER: form 'junk' .*; do not set it by hand" "$IMAGE" \
    --ntasks-per-node=1 --task-prolog=/home/alice/prolog.sh

echo "# plugstack.conf"
# Rows: words behind the plugin | what the line says.
settings=(
    "nonsense|plugstack.conf: .*nonsense"
    "colour=red|plugstack.conf: .*colour=red"
    "config=berth.yaml|plugstack.conf: config: .*berth.yaml"
    "config=/no/berth.yaml|/no/berth.yaml: 'no': No such file"
    "config|plugstack.conf: config"
    "option_prefix=A_B|plugstack.conf: option_prefix: .*A_B"
    "config=/x nonsense|plugstack.conf: .*nonsense"
)
[[ $complete ]] || settings=("${settings[0]}")
for row in "${settings[@]}"; do
    text=${row%%|*}
    hosts_conf "required $plugin $text" n2
    runs "'$text' on n2: a step without options runs" 8 host
    half_refused "'$text' on n2: a step with an image is refused" "${row#*|}" "$IMAGE"
    hosts_conf "required $plugin $text" login
    runs "'$text' on login and n2: a step without options runs" 8 host
    wrong "'$text' on login and n2: a step with an image is refused" "${row#*|}" "$IMAGE"
    put_back
done
for row in "/no/such|No such file or directory" "/etc/passwd|not a program" "/usr|not a program" \
    "/etc/passwd/x|Not a directory"; do
    site_conf "runtime:"$'\n'"  path: ${row%%|*}" login n1 n2
    refused "runtime.path: ${row%%|*}" "container runtime '${row%%|*}': ${row#*|}; ask" "$IMAGE"
    runs "runtime.path: ${row%%|*}: a step without options runs" 8 host
    put_back
done
deny="runtime:"$'\n'"  raw_args: none"
site_conf "$deny" n2
half_refused "raw_args: none on n2 only" "--container-args: this site does not allow it; leave" \
    "$IMAGE" --container-args=--cleanenv
site_conf "$deny" login
wrong "raw_args: none" "--container-args: this site does not allow it; leave" \
    "$IMAGE" --container-args=--cleanenv
refused_here "raw_args: none, sbatch" "--container-args: this site does not allow it; leave" \
    sbatch "$IMAGE" --container-args=--cleanenv --wrap=true
runs "raw_args: none, without the option" 8 "" "$IMAGE"
put_back

echo "# optional in plugstack.conf"
hosts_conf "optional $plugin" login n1 n2
runs "optional: a step in an image runs" 8 "" "$IMAGE"
refused "optional: missing image" "not found; check the path" "$MISSING"
refused "optional: wrong image on the nodes" "not an image; expected" \
    --container-image=/srv/nodes/text.sif
refused "optional: mount source missing" "--container-mounts: '/srv/nowhere'" \
    "$IMAGE" --container-mounts=/srv/nowhere
refused "optional: a corrupt table" "SLURM_BERTH_STEP: " \
    --export=ALL,SLURM_BERTH_STEP=junk
refused "optional: command missing" "command '/no/such' is not in the image" "$IMAGE" -- /no/such
wrong "optional: wrong option" "container-workdir: 'x' is not" "$IMAGE" --container-workdir=x
wrong "optional: wrong image" "not an image" --container-image=/srv/both/text.sif
wrong "optional: options without image" "it needs an image" --container-writable
refused_here "optional: sbatch" "cannot be pulled" sbatch --container-image=file:///x --wrap=true
hosts_conf "optional $plugin nonsense" n1 n2
refused "optional: bad word on the nodes" "plugstack.conf: .*nonsense" "$IMAGE"
hosts_conf "optional $plugin nonsense" login
wrong "optional: bad word" "plugstack.conf: .*nonsense" "$IMAGE"
put_back

echo "# no plugin on a node"
snippet=$(on n1 root bash -c 'ls /usr/share/berth/taskprolog-berth.sh /usr/local/share/berth/taskprolog-berth.sh 2>/dev/null | head -n1')
for node in login n1 n2 n3 n4; do
    spoil "$node" "printf '#!/bin/sh\n. %s\n' '$snippet' >/etc/slurm/taskprolog.sh
        chmod 755 /etc/slurm/taskprolog.sh
        cp /etc/slurm/slurm.conf /etc/slurm/slurm.conf.was
        echo TaskProlog=/etc/slurm/taskprolog.sh >>/etc/slurm/slurm.conf" \
        "rm -f /etc/slurm/taskprolog.sh
        [ ! -e /etc/slurm/slurm.conf.was ] || mv -f /etc/slurm/slurm.conf.was /etc/slurm/slurm.conf"
done
reconfigure() {
    local i
    on login root scontrol reconfigure
    for ((i = 0; i < 50; i++)); do
        sleep 0.2
        [[ $(on login root sinfo -h -N -o %t | sort | uniq -c | tr -d ' ') != 4idle ]] || return 0
    done
}
reconfigure
# without_plugin TITLE: n2 has no plugin.
without_plugin() {
    command_line "$IMAGE"
    attempt "${line[@]}"
    seen=$(grep -v 'TaskProlog failed' <<<"$seen")
    judge_node "$1" n2 "plugin is not loaded on this node; ask the administrators" 4
}
runs "TaskProlog, plugin there: an image" 8 "" "$IMAGE"
runs "TaskProlog, plugin there: the host" 8 host
refused "TaskProlog, plugin there: missing image" "not found; check" "$MISSING"
equal "TaskProlog, plugin there: the shell of salloc (use_interactive_step) starts on the host" host \
    "$(alice salloc -Q -w n1 -n1 --container-image="$A" srun --interactive \
        sh -c 'test -e /etc/berth-image || echo host' 2>&1)"
hosts_conf "" n2
without_plugin "TaskProlog, n2 does not name the plugin"
runs "TaskProlog, n2 does not name the plugin: a step without options runs" 8 host
hosts_conf "optional $plugin" n2
hide n2 "${plugin%% *}"
without_plugin "TaskProlog, n2 has no plugin and it is optional"
hosts_conf "required $plugin" n2
command_line "$IMAGE"
attempt "${line[@]}"
# srun 22.05 ends with 0 when a node cannot start the step; the tasks are lost all the same.
[[ $(alice srun --version) != *" 22."* ]] || status=1
equal "n2 has no plugin and it is required: srun fails, no task on the host" "yes " \
    "$( ((status && status != 124)) && echo yes) $host"
put_back
reconfigure

echo "# one component fails, the other waits"
# ends TITLE COMMAND...: srun ends soon, and not with 0.
ends() {
    line=("${@:2}")
    attempt "${line[@]}"
    if ((status != 0 && seconds < 15)) && [[ -z $host ]]; then
        result ok "$1"
    else
        verdict "$1" $'expected: it fails within seconds\n'
    fi
}
for how in "het job|srun" "het step|salloc -Q -N2 --ntasks-per-node=2 srun"; do
    title=${how%%|*}
    read -ra words <<<"${how#*|}"
    ends "$title: no image in the first" "${words[@]}" -N1 -n2 "$MISSING" true : \
        -N1 -n2 "$IMAGE" sleep 30
    ends "$title: no image in the second" "${words[@]}" -N1 -n2 "$IMAGE" sleep 30 : \
        -N1 -n2 "$MISSING" true
    ends "$title: no command in the second" "${words[@]}" -N1 -n2 "$IMAGE" sleep 30 : \
        -N1 -n2 "$IMAGE" /no/such
    ends "$title: the second program fails" "${words[@]}" -N1 -n2 "$IMAGE" sleep 30 : \
        -N1 -n2 "$IMAGE" false
    ends "$title: the first program fails, the host waits" "${words[@]}" \
        -N1 -n2 "$IMAGE" false : -N1 -n2 sleep 30
done

echo "# no fault at all"
spoil n1 'mount -t tmpfs -o size=64k,mode=1777 none /tmp; head -c 100000 /dev/zero >/tmp/full 2>/dev/null; :' \
    "umount /tmp"
runs "a full /tmp" 8 "" "$IMAGE"
spoil n1 "mount -o remount,bind,ro /home" "mount -o remount,bind,rw /home"
runs "a full /tmp and a read-only home" 8 "" "$IMAGE"
put_back

for node in login n1 n2; do
    on "$node" root rm -rf /srv/both /srv/nodes /srv/cwd
done
finish
