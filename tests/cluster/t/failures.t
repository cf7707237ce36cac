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
two=(srun -w "n1,n2" -N2 --ntasks-per-node=4 --kill-on-bad-exit=0)
conf=/etc/slurm/plugstack.conf.d/berth.conf

# What every task does: /shared is on all hosts and in no image, so that only a task on
# the host can leave its mark there.
probe='{ echo x >/shared/on-host; } 2>/dev/null; echo ran'

# What is seen of a command, its status, how many jobs it made, how long it took, and what a
# task on the host has left.
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
    line=("$@")
    seen=$(on login alice env COUNT="${counting-}" ./attempt "$@" 2>&1)
    last=${seen##*$'\n@'}
    seen=${seen%$'\n@'*}
    seen=${seen%$'\n'}
    read -r status jobs seconds host <<<"$last"
}

# both_nodes ARGS...: attempt a step on two nodes with the usual task, unless ARGS hold `--` and a
# command; `with` has variables of its srun.
with=()
both_nodes() {
    line=(env "${with[@]}" "${two[@]}" "$@")
    [[ " $* " == *" -- "* ]] || line+=(sh -c "$probe")
    attempt "${line[@]}"
}

# judge TITLE PROBLEMS
judge() {
    if [[ -z $2 ]]; then
        result ok "$1"
    else
        result FAIL "$1" "${line[*]@Q}"$'\n'"$2exit $status, $jobs new jobs, $seconds s"$'\n'"$seen"
    fi
}

# refused TITLE PATTERN ARGS...: both nodes refuse the step, or `by` one of them, and the tasks of
# the other one run. There is one line from each that refuses, and nothing else but srun's own
# words and `ran`. The status is `ends`, if that is set.
refused() {
    local said bad='' it
    local -i ran
    both_nodes "${@:3}"
    said=$(sed -nE 's/^berth: ([^:]*): .*/\1/p' <<<"$seen" | sort | paste -sd' ')
    ran=$(grep -c '^ran$' <<<"$seen")
    ((status != 0 && status == ${ends:-status})) || bad+="expected the status ${ends:-not to be 0}"$'\n'
    ((status != 124 && seconds < 40)) || bad+=$'it hangs\n'
    [[ $said == "${by:-n1 n2}" ]] || bad+="lines from '$said', expected '${by:-n1 n2}'"$'\n'
    ((ran == (${by:+4} + 0))) || bad+="$ran tasks ran, expected ${by:+4}"$'\n'
    [[ -z $host ]] || bad+=$'a task ran on the host\n'
    while IFS= read -r it; do
        [[ $it =~ $2 ]] || bad+="the line does not match ${2@Q}"$'\n'
        [[ $it =~ ^berth:\ [^:]+:\ .+(\;\ |expected\ ).+ ]] || bad+=$'not NODE: PLACE: WHAT; REMEDY\n'
    done < <(grep '^berth: ' <<<"$seen")
    it=$(grep -vE '^(berth: |srun: |ran$|$|slurmstepd(-n.)?: error: \*\*\* STEP )|^srun: error: berth|TaskProlog failed' <<<"$seen")
    [[ -z $it ]] || bad+="more lines: $it"$'\n'
    judge "$1" "$bad"
}

# runs TITLE WHERE ARGS...: nothing is wrong, and all eight tasks run, on the `host` or in an
# `image`.
runs() {
    both_nodes "${@:3}"
    equal "$1" "0: 8 ran, $2" "$status: $(without_waiting "$seen" | sort | uniq -c | xargs), ${host:-image}"
}

# fails TITLE EXPECTED WORDS ARGS...: the step fails, nothing runs on the host; EXPECTED is
# how many lines have WORDS, and how many tasks ran.
fails() {
    both_nodes "${@:4}"
    equal "$1" "fails, $2" "$( ((status)) && echo fails), $(grep -c -- "$3" <<<"$seen") $(grep -c '^ran$' <<<"$seen")$host"
}

# refused_here TITLE PATTERN COMMAND...: refused before anything is allocated.
refused_here() {
    local bad='' counting=yes
    attempt "${@:3}"
    ((status == 1)) || bad+="the exit status is $status, expected 1"$'\n'
    ((jobs == 0)) || bad+=$'a job was created\n'
    [[ -z $host ]] || bad+=$'a task ran on the host\n'
    [[ $seen != *$'\n'* ]] || bad+=$'more than one line\n'
    [[ $seen =~ $2 ]] || bad+="the line does not match ${2@Q}"$'\n'
    [[ $seen =~ ^(srun|sbatch|salloc):\ error:\ berth:\ .+(\;\ |expected\ ).+ ]] ||
        bad+=$'not berth: PLACE: WHAT; REMEDY\n'
    judge "$1" "$bad"
}

# hosts_conf TEXT HOST[,HOST]...: the plugstack line of these hosts; their own comes back later.
hosts_conf() {
    spoil "$2" "[ -e $conf.was ] || cp $conf $conf.was; echo '$1' >$conf" \
        "[ ! -e $conf.was ] || mv -f $conf.was $conf"
}

plugin=$(on n1 root sed -n 's/^required //p' "$conf") # and its words
libexec=/usr/libexec/berth

echo "# nothing wrong"
runs "a step in an image runs" image "$IMAGE"
runs "a step without options runs on the host" host
runs "the image on a command line twice is one image" image "$IMAGE" "$IMAGE"

echo "# on one of two nodes"
spoil n1 "mkdir -p /srv/one && cp $A /srv/one/a.sif" "rm -rf /srv/one"
by=n2 refused "image only on n1: its tasks run, srun fails" \
    "image '/srv/one/a.sif': not found" --container-image=/srv/one/a.sif
by=n2 refused "mount source only on n1" "--container-mounts: '/srv/one': the source path does not exist; " \
    "$IMAGE" --container-mounts=/srv/one
hide_runtime n2
by=n2 refused "no runtime on n2" "container runtime: neither apptainer nor singularity" "$IMAGE"
put_back
for program in berth-init berth-task; do
    hide n2 "$libexec/$program"
    by=n2 refused "no $program on n2" "$program.*No such file.*; berth is incomplete" "$IMAGE"
    put_back
done

# Images and the runtime are the same with every Slurm.
if thorough; then
    # Wrong images: in DIR of HOST.
    for it in login:/srv/both n1:/srv/both n2:/srv/both n1:/srv/nodes n2:/srv/nodes; do
        on "${it%:*}" root bash -c "
            mkdir -p '${it#*:}' && cd '${it#*:}' || exit 1
            printf 'hello, I am a text of some length\n%.0s' {1..50} >text.sif
            cp $small arch.sif && printf 04 | dd of=arch.sif bs=1 seek=45 conv=notrunc status=none
            cp text.sif mode.sif && chmod 000 mode.sif
            mkdir -p -m 700 bobs && cp $small bobs/a.sif && chown -R bob: bobs
            ln -sf nowhere.sif broken.sif
        " &
    done
    wait

    # Rows: file | what the line says. (tests/unit/image.c has all that can be wrong with a file.)
    images=(
        "text.sif|not an image; expected a SIF file"
        "mode.sif|you may not read it; ask its owner"
    )
    echo "# wrong images, seen at submission"
    for row in "${images[@]}"; do
        refused_here "image, here: ${row%%|*}" "image '/srv/both/${row%%|*}': .*(${row#*|})" "${two[@]}" "--container-image=/srv/both/${row%%|*}" sh -c "$probe"
    done

    echo "# wrong images, seen by the nodes only"
    for row in "${images[@]}" \
        "arch.sif|it is for aarch64 and this machine is x86_64; use an image for x86_64" \
        "text.sif/x|not found; check the path"; do
        refused "image, on the nodes: ${row%%|*}" "image '/srv/nodes/${row%%|*}': .*(${row#*|})" \
            "--container-image=/srv/nodes/${row%%|*}"
    done
    refused "image, relative, not there" "image '/home/alice/nowhere.sif': not found" \
        --container-image=nowhere.sif
    refused "image of another machine, on all hosts: the nodes decide" "it is for aarch64 and this" \
        --container-image=/srv/both/arch.sif
    refused "image, a broken link on all hosts" "image '/srv/both/broken.sif': not found" \
        --container-image=/srv/both/broken.sif

    echo "# how many containers there are, with -v"
    # It says so once for each of both nodes.
    for it in "-v: one container|one container for 4 tasks|" \
        "-v: --container-args=--pid|a container for each of 4 tasks: the container has a process namespace|--container-args=--pid"; do
        IFS='|' read -r title said option <<<"$it"
        try "$title" "berth: n1: note: image '$A': $said${nl}berth: n2: note: image '$A': $said" "grep '^berth: ' | sort" -- \
            "${two[@]}" -v "$IMAGE" ${option:+"$option"} true
    done

    echo "# a runtime that does not start"
    other=/usr/local/bin/$runtime_name
    spoil n1,n2 "cat >$other <<'END'
#!/bin/sh
echo 'FATAL:   container creation failed: no luck' >&2
echo 'FATAL:   while doing nothing' >&2
exit 255
END
chmod 755 $other" "rm -f $other"
    fails "runtime fails: its words come once from each node, and nothing runs" "2 0" "no luck" "$IMAGE"
    put_back
    spoil n1,n2 "printf '#!/bin/sh\nsleep 50 & wait\n' >$other
            chmod 755 $other" "rm -f $other"
    site n1 n2 <<<$'runtime:\n  start_timeout: 2'
    refused "runtime hangs: said once by each node" \
        "image '$A': the container did not start within 2 seconds; ask the administrators" \
        "$IMAGE"
    nothing_left
    put_back
    site </dev/null
    spoil n1,n2 "printf '#!/no/such/interpreter\n' >$other
            chmod 755 $other" "rm -f $other"
    refused "runtime without its interpreter" \
        "$other.*: No such file or directory; " "$IMAGE"
    put_back
    spoil n2 "chmod 000 /dev/fuse" "chmod 666 /dev/fuse"
    fails "no permission for /dev/fuse on n2: said once, and n1 runs" "1 4" "fuse.*Permission denied" "$IMAGE"
    put_back

    echo "# commands and directories in the image"
    on login alice bash -c 'echo data >data; chmod 644 data'
    spoil n1,n2 "printf '#!/bin/sh\n%s\n' '$probe' >/usr/local/bin/hostonly
            chmod 755 /usr/local/bin/hostonly; mkdir -p /srv/cwd" "rm -f /usr/local/bin/hostonly"
    runs "a command of the host, on the host" host -- hostonly
    # The words of srun itself: no `--` between them and the command.
    ends=127 refused "command not on PATH" \
        "image '$A': command 'hostonly' is not on the image's PATH .*; check the name" "$IMAGE" -- hostonly
    ends=126 refused "command not executable" "command '/home/alice/data' cannot be started .*; " "$IMAGE" \
        -- /home/alice/data
    # How many notes two tasks of a node print that end with 127.
    notes="grep -c 'n[0-9]: note: LD_LIBRARY_PATH of the host is not passed to the image'"
    lost=(env LD_LIBRARY_PATH=/opt/lib srun -N1 -n2 "$IMAGE")
    try "the lost libraries of a task that cannot be loaded" 1 "$notes" -- "${lost[@]}" sh -c 'exit 127'
    try "... not if they are not lost" 0 "$notes" -- "${lost[@]}" --container-env=LD_LIBRARY_PATH sh -c 'exit 127'
    # shellcheck disable=SC2016 # the tasks' variable
    for it in "somebody writes into the image file|2|echo >>mine.sif; exit 3" "... and no task has failed|0|echo >>mine.sif" \
        'somebody replaces the image file|0|cp mine.sif my.$SLURM_PROCID; mv my.$SLURM_PROCID mine.sif; exit 3'; do
        IFS='|' read -r title changed commands <<<"$it"
        alice cp "$A" mine.sif
        try "$title" "$changed" "grep -c 'n[0-9]: an image file was changed while the step ran'" -- \
            srun -N2 -n2 --container-image=/home/alice/mine.sif --container-mount-home sh -c "cd; sleep 1; $commands"
        alice rm mine.sif
    done
    ends=1 refused "workdir missing" "--container-workdir=/no/dir: No such file.*; expected" "$IMAGE" \
        --container-workdir=/no/dir
    refused "workdir not to be entered" "--container-workdir=/mnt/bobs: Permission denied; expected" "$IMAGE" \
        --container-mounts=/srv/nodes:/mnt --container-workdir=/mnt/bobs
    refused "mount of a directory over a file" "did not start it: .*; mount a directory over a directory" "$IMAGE" \
        --container-mounts=/srv/cwd:/bin/cat
    printf 'hsqs%0200d' 0 | on login alice sh -c 'cat >cut.sqsh'
    refused "a squashfs file that is cut off" "did not start it: .*; make that squashfs file again" "$IMAGE" \
        --container-mounts=cut.sqsh:/mnt:sqsh
    if [[ $release == trixie ]]; then # where the host's C library is not the image's
        try "the host's libraries beside the image's, by a variable" "~--mpi-bind=host: LD_LIBRARY_PATH puts '/host/lib/libc.so.6' before the C library of the image, whose loader cannot use it; unset APPTAINERENV_LD_LIBRARY_PATH, or take that directory out of it.*status" -- \
            env APPTAINER_BIND=/usr/lib/x86_64-linux-gnu:/host/lib APPTAINERENV_LD_LIBRARY_PATH=/host/lib srun -n1 --mpi=pmi2 --container-image=/images/mpich.sif --mpi-bind=host mpiring
    fi
    refused "a word for the runtime that is no flag" "did not start it: .*; look in --container-args for an argument" "$IMAGE" \
        --container-args="--cleanenv nv"
    refused "an mpirun beside srun" "each of the 8 tasks would start 'mpirun'; leave the mpirun out" "$IMAGE" \
        --mpi-bind=host -- mpirun true
    refused "mount source of bob" "--container-mounts: '/srv/nodes/bobs/a.sif': Permission denied; " "$IMAGE" \
        --container-mounts=/srv/nodes/bobs/a.sif:/mnt/x
    echo "0-7 hostonly" | on login alice bash -c 'cat >hostonly.conf'
    refused "several tasks with --multi-prog" "command 'hostonly' is not on" "$IMAGE" \
        --multi-prog -- hostonly.conf
    put_back
fi

echo "# options"
help=$(alice srun --help | sed -n '/provided by plugins/,/^GPU/p')
option_names() { grep -oE '^ +--[a-z-]+' | tr -d ' '; }
equal "srun --help: the options of berth run" "$(alice berth run --help | option_names)" "$(option_names <<<"$help")"
equal "srun --help: its lines fit" "" "$(grep -E '.{81}' <<<"$help")"
# (tests/spank/refusals.sh has all that can be wrong with an option.)
printf -v long '%070000d' 0
refused_here "options longer than 64 KiB" "take [0-9]+ bytes; at most 65536" "${two[@]}" "$IMAGE" "--container-env=A=$long" sh -c "$probe"
counting=yes attempt srun "$IMAGE" --container-writable=x true
equal "options: --container-writable=x is refused by Slurm" "yes 0 " "$( ((status)) && echo yes) $jobs $host"
refused_here "sbatch with a wrong option" "--container-workdir: expected a directory in the image" \
    sbatch -N2 "$IMAGE" --container-workdir=x --wrap=true
refused_here "salloc with a wrong option" "--container-env: '1' is not a variable" \
    salloc -N2 "$IMAGE" --container-env=1 true
refused_here "srun -Q with a wrong option" "--container-env: '1' is not a variable" \
    srun -Q -N2 "$IMAGE" --container-env=1 true
script wrong.sh <<'SCRIPT'
#!/bin/sh
#SBATCH -N2 --container-image=file:///images/a.sif
true
SCRIPT
refused_here "#SBATCH with a wrong option" "cannot be pulled; write" sbatch ./wrong.sh
fails "a flag that the runtime does not know: said once by each node" "2 0" \
    'unknown flag: --no-such-flag' "$IMAGE" --container-args=--no-such-flag

echo "# forged and corrupt tables"
# (tests/spank/node.sh has more of them.)
refused "a corrupt table on the nodes" "SLURM_BERTH_STEP: .*; " --export=ALL,SLURM_BERTH_STEP=junk
runs "srun puts its own table over one from --export" image --export=ALL,SLURM_BERTH_STEP=junk "$IMAGE"
with=("SLURM_BERTH_STEP=1;*:image=/images/b.sif;.")
both_nodes "$IMAGE" -- cat /etc/berth-image
equal "srun puts its own table over an inherited one" "0 8" "$status $(grep -c '^a$' <<<"$seen")"
runs "no options and a good forged table: on the host" host
with=()
script prolog.sh <<'SCRIPT'
#!/bin/sh
echo export SLURM_BERTH_STEP=junk
SCRIPT
runs "a task prolog that sets the table changes nothing" image "$IMAGE" \
    --task-prolog=/home/alice/prolog.sh
script prolog.sh <<'SCRIPT'
#!/bin/sh
echo export BERTH_TASK_ORDER=junk
SCRIPT
refused "a task prolog that sets the order" "BERTH_TASK_ORDER: internal data is damaged .junk" "$IMAGE" \
    --ntasks-per-node=1 --task-prolog=/home/alice/prolog.sh

echo "# plugstack.conf"
# (tests/spank/site.sh has all that can be wrong with the words behind the plugin.)
hosts_conf "required $plugin nonsense" n2
runs "a bad word on n2: a step without options runs" host
by=n2 refused "a bad word on n2: a step with an image is refused" "plugstack.conf: .*nonsense" "$IMAGE"
hosts_conf "required $plugin config=/no/berth.yaml" login
runs "bad words on login and n2: a step without options runs" host
refused_here "bad words on login and n2: a step with an image is refused" "/no/berth.yaml: 'no': No such file" "${two[@]}" "$IMAGE" sh -c "$probe"
put_back
site login n1 n2 <<<'runtime: {path: /etc/passwd}'
refused "runtime.path that is not a program" "container runtime '/etc/passwd': not a program; ask" "$IMAGE"
runs "runtime.path that is not a program: a step without options runs" host
site login n1 </dev/null
site n2 <<<'runtime: {raw_args: none}'
by=n2 refused "raw_args: none on n2 only" "--container-args: this site does not allow it; leave" \
    "$IMAGE" --container-args=--cleanenv
site </dev/null

echo "# optional in plugstack.conf"
hosts_conf "optional $plugin" login,n1,n2
runs "optional: a step in an image runs" image "$IMAGE"
refused "optional: missing image" "not found; check the path" "$MISSING"
refused_here "optional: wrong option" "container-workdir: expected a directory" "${two[@]}" "$IMAGE" --container-workdir=x sh -c "$probe"
hosts_conf "optional $plugin nonsense" n1,n2
refused "optional: bad word on the nodes" "plugstack.conf: .*nonsense" "$IMAGE"
hosts_conf "optional $plugin nonsense" login
refused_here "optional: bad word" "plugstack.conf: .*nonsense" "${two[@]}" "$IMAGE" sh -c "$probe"
put_back

echo "# no plugin on a node"
task_prolog
runs "TaskProlog, plugin there: an image" image "$IMAGE"
runs "TaskProlog, plugin there: the host" host
refused "TaskProlog, plugin there: missing image" "not found; check" "$MISSING"
try "TaskProlog, plugin there: the shell of salloc (use_interactive_step) starts on the host" host -- \
    salloc -Q -w n1 -n1 --container-image="$A" srun --interactive sh -c 'test -e /etc/berth-image || echo host'
hosts_conf "" n2
by=n2 refused "TaskProlog, n2 does not name the plugin" "plugin is not loaded on this node; ask the administrators" "$IMAGE"
runs "TaskProlog, n2 does not name the plugin: a step without options runs" host
hosts_conf "optional $plugin" n2
hide n2 "${plugin%% *}"
by=n2 refused "TaskProlog, n2 has no plugin and it is optional" "plugin is not loaded on this node; ask the administrators" "$IMAGE"
hosts_conf "required $plugin" n2
both_nodes "$IMAGE"
# srun 22.05 ends with 0 when a node cannot start the step; the tasks are lost all the same.
[[ $(alice srun --version) != *" 22."* ]] || status=1
equal "n2 has no plugin and it is required: srun fails, no task on the host" "yes " \
    "$( ((status && status != 124)) && echo yes) $host"
put_back
no_task_prolog && wait_for 10 all_idle

echo "# one component fails, the other waits"
for how in "het job|srun" "het step|salloc -Q -N2 --ntasks-per-node=2 srun"; do
    for it in "no image in the first|$MISSING true|$IMAGE sleep 30" "no image in the second|$IMAGE sleep 30|$MISSING true" \
        "no command in the second|$IMAGE sleep 30|$IMAGE /no/such" "the second program fails|$IMAGE sleep 30|$IMAGE false" \
        "the first program fails, the host waits|$IMAGE false|sleep 30"; do
        IFS='|' read -r title first second <<<"$it"
        # shellcheck disable=SC2086 # words
        attempt ${how#*|} -N1 -n2 $first : -N1 -n2 $second
        bad=$'expected: it fails within seconds\n'
        ((status == 0 || seconds >= 15)) || [[ $host ]] || bad=
        judge "${how%%|*}: $title" "$bad"
    done
done

echo "# no fault at all"
spoil n1 'mount -t tmpfs -o size=64k,mode=1777 none /tmp; head -c 100000 /dev/zero >/tmp/full 2>/dev/null; :' \
    "umount /tmp"
runs "a full /tmp" image "$IMAGE"
spoil n1 "mount -o remount,bind,ro /home" "mount -o remount,bind,rw /home"
runs "a full /tmp and a read-only home" image "$IMAGE"
put_back

on login,n1,n2 root rm -rf /srv/both /srv/nodes /srv/cwd
finish
