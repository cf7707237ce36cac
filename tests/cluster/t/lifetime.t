#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # what stands in single quotes is for another shell
# However a step ends, srun ends too, with a status that tells, and nothing is left on the
# nodes three seconds later: no process, no mount, no file, no descriptor of slurmd.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b

IMAGE=--container-image=/images/a.sif
two="-w n1,n2 -N2 --ntasks-per-node=4 --overcommit"
# Slurm's own first job may open what stays open (log, plugins).
alice srun -N4 true >"$work/first" 2>&1 || cat "$work/first"
remember n1 n2 n3 n4

# over TITLE KEY STATUS [NODE...]: it ends with a status that matches, and leaves nothing.
over() {
    local title=$1 key=$2 bad='' status=0 it
    wait "${pid[$key]}" || status=$?
    [[ $status =~ ^($3)$ ]] || bad+="status $status, expected $3"$'\n'
    ((status != 124)) || bad+=$'it hangs\n'
    shift 3
    (($#)) || set -- n1 n2 n3
    it=$(left "$@")
    [[ -z $it ]] || bad+="left:"$'\n'"$it"$'\n'
    if [[ -z $bad ]]; then
        result ok "$title"
    else
        result FAIL "$title" "$bad$(tail -n 20 "$work/$key")"
    fi
    # What one case leaves is not the next one's fault.
    [[ -z $it ]] || for it; do
        on "$it" root pkill -KILL -u alice,bob
        remember "$it"
    done
}

# by_itself TITLE STATUS ARGS...: a step that ends by itself.
by_itself() {
    # shellcheck disable=SC2086
    start step alice srun $two "$IMAGE" "${@:3}"
    over "$1" step "$2"
}

# A step of eight tasks that are ready.
# shellcheck disable=SC2206 # words
eight=(8 $two "$IMAGE")

# victims KIND: processes on n1.
victims() {
    local test
    case $1 in
    program) test='$3 == "sh"' ;;
    runtime) test='$3 ~ /^(starter|apptainer|singularity)/ || $4 ~ /^(Apptainer|Singularity)/' ;;
    server) test='$3 ~ /^squashfuse/' ;;
    ours) test='$3 ~ /^berth-/' ;;
    esac
    on n1 root ps -eo pid=,user=,comm=,args= | awk "\$2 == \"alice\" && ($test) { print \$1 }"
}

# The time limit takes more than a minute: on a node of its own, looked at in the end. Slurm
# looks at time limits each half minute and is early rather than late, so that USR1@30 would
# come at any time after the start, also before the trap; USR1@5 comes after 25 seconds.
LIMIT=180 start limit bob srun -w n4 -N1 -n2 -t 1 --signal=USR1@5 "$IMAGE" bash -c '
    trap usr1=seen USR1
    until [ "$usr1" ]; do sleep 0.2; done
    for i in 1 2 3 4 5 6 7 8; do sleep 0.2; cat /etc/berth-image >/dev/null || exit 1; done
    echo saved
    exec sleep 170'

echo "# steps that end by themselves"
by_itself "normal end" 0 true
by_itself "the application fails" 7 sh -c 'exit 7'
by_itself "one task of eight fails" 9 sh -c '[ $SLURM_PROCID != 5 ] || exit 9'
by_itself "one task ends itself with SIGSEGV" 139 sh -c '[ $SLURM_PROCID != 5 ] || kill -SEGV $$'
by_itself "all tasks end themselves with SIGKILL" 137 sh -c 'kill -KILL $$'
by_itself "one fails, with -K" '[1-9].*' -K sh -c '[ $SLURM_PROCID != 5 ] || exit 9; sleep 20'
by_itself "refused on the nodes" 1 --container-workdir=/no/dir true
by_itself "command not found" 127 no-such-command
by_itself "a child closes everything and lives on for a second" 0 sh -c \
    'sleep 1 >&- 2>&- <&- & exit 0'
start ended alice salloc -Q -w n1 -N1 sh -c \
    "srun --overlap $IMAGE true; srun --overlap ps -u alice -o comm="
over "a step ends, and then another one looks" ended 0
equal "... and nothing of its container is there" "" \
    "$(grep -E '^(berth-|starter|apptainer|Apptainer|singularity|Singularity|squashfuse)' \
    "$work/ended")"
start many alice srun -w n1 -N1 -n64 "$IMAGE" sh -c 'echo ran'
over "64 tasks on one node" many 0
printed "... and all of them ran" many 64 ran
start many alice srun -w n1 -N1 -n64 "$IMAGE" sh -c 'echo ready; sleep 60'
await many 64 ready
on login alice scancel -u alice
over "64 tasks on one node, scancel" many '[1-9].*'

echo "# signals from Slurm"
live "${eight[@]}" sh -c 'echo ready; exec sleep 60'
on login alice scancel -u alice
over "scancel" live '[1-9].*'
live "${eight[@]}" sh -c 'trap "" TERM; echo ready; while :; do sleep 1; done'
on login alice scancel -u alice
over "scancel, and the application does not care for SIGTERM" live '[1-9].*'
live "${eight[@]}" sh -c \
    'trap "read -r x </etc/berth-image; echo saved \$x; exit 3" TERM; echo ready
    while :; do sleep 0.1; done'
on login alice scancel -u alice
over "scancel, and the application saves its work" live '[1-9].*'
printed "... with the files of the image" live 8 "saved a"
live "${eight[@]}" sh -c 'trap "exit 4" USR1; echo ready; while :; do sleep 0.1; done'
on login alice scancel -s USR1 -u alice
over "SIGUSR1 to the step" live 4
# Slurm signals a step more than once (scancel, --signal, the time limit), and the second one
# may find the image's server busy with the first.
live "${eight[@]}" sh -c "trap '' USR1; echo ready; $waits; cat /etc/berth-image"
mapfile -t list < <(victims server)
if ((${#list[@]})); then
    on n1 root bash -c 'for i in 1 2 3; do
        (for _ in {1..400}; do kill -USR1 "$@" || break; done) &
    done; wait' storm "${list[@]}" 2>&1 | head -n 3
    go
    over "a storm of signals to the image's server" live 0
    printed "... and the files of the image are there" live 8 a
else
    go
    over "an image without a server" live 0
fi
live "${eight[@]}" sh -c "echo ready; $waits; cat /etc/berth-image"
on login alice scancel -s STOP -u alice
go
on login alice scancel -s CONT -u alice
over "SIGSTOP and SIGCONT to the step" live 0
printed "... and it went on in its image" live 8 a
live "${eight[@]}" sh -c 'echo ready; exec sleep 60'
on login alice pkill -TERM -u alice -x srun
over "SIGTERM to srun" live '[1-9].*'
live "${eight[@]}" sh -c 'echo ready; exec sleep 60'
# The second one has to come within a second, which a busy machine may not manage.
for _ in $(seq 20); do
    on login alice pkill -INT -u alice -x srun || break
    sleep 0.2
done
over "Ctrl-C twice" live '[1-9].*'
# shellcheck disable=SC2086
on login alice sbatch -Q -o batch.out $two --wrap "srun $IMAGE sh -c 'echo ready; exec sleep 60'" \
    >/dev/null
start batch alice bash -c 'until [ "$(grep -c ready batch.out)" = 8 ]; do sleep 0.1; done
    scancel -u alice; while [ -n "$(squeue -h -u alice)" ]; do sleep 0.1; done'
over "scancel of a batch job" batch 0

# Slurm's signals are not for a task that slurmstepd has forked and not started yet, nor for
# a step that slurmd does not know yet: one in some hundred ends by itself, also without an
# image.
echo "# scancel while it starts"
script early <<'SCRIPT'
#!/bin/bash
# early COUNT: steps that are cancelled after 0 to 300 ms, and their job with them, but for one
# that this runs in.
for ((i = 0; i < $1; i++)); do
    srun --overlap -w n1,n2 -N2 --ntasks-per-node=4 --container-image=/images/a.sif \
        sleep 20 >/dev/null 2>&1 &
    sleep "0.$(printf %03d $((RANDOM % 300)))"
    for ((j = 0; j < 100; j++)); do
        if [[ $SLURM_JOB_ID ]]; then scancel "$SLURM_JOB_ID.$i"; else scancel -u alice; fi 2>/dev/null
        kill -0 $! 2>/dev/null || break
        sleep 0.1
    done
    ! wait $! || echo "number $i ended by itself, $((++outlived))"
done
((outlived < 2)) || exit 9
SCRIPT
start early alice ./early 10
over "scancel after 0 to 300 ms, ten times" early 0
start early alice salloc -Q -w n1,n2 -N2 --ntasks-per-node=4 ./early 8
over "scancel of steps after 0 to 300 ms, eight times" early 0

# Processes and memory are not what differs between the releases of Slurm.
if thorough; then
    echo "# SIGKILL of one process on n1"
    # Each kind of process, one of it and all of it.
    for it in "program;137;a program" "runtime;0|137;the runtime" \
        "server;[0-9]+;the image's server" \
        "ours;[0-9]+;a process of berth"; do
        IFS=';' read -r kind status what <<<"$it"
        for which in "" ", of all tasks"; do
            live "${eight[@]}" sh -c "echo ready; $waits"
            mapfile -t list < <(victims "$kind")
            [[ $which ]] || list=("${list[@]:0:1}")
            if ((${#list[@]})); then
                on n1 root kill -KILL "${list[@]}"
            else
                what="$what, of which there is no process" status=0
            fi
            go
            over "one container: SIGKILL of $what$which" live "$status"
        done
    done
    live "${eight[@]}" sh -c "echo ready; $waits; cat /etc/berth-image"
    mapfile -t list < <(victims server)
    if ((${#list[@]})); then
        on n1 root kill -KILL "${list[@]}"
        go
        over "without the image's server the application fails, and says so" live '[1-9].*'
    else
        go
        over "without the image's server" live 0
    fi
    # A server that nobody traces could be stopped, and its tasks could not be killed.
    live "${eight[@]}" sh -c 'echo ready; while cat /usr/lib/*/*.so* >/dev/null; do :; done'
    on n1 root pkill -KILL -u alice -x berth-start
    soon "nobody traces the image's server: it has ended" "" -- victims server
    on n1 root pkill -STOP -u alice squashfuse
    on login alice scancel -u alice
    over "... and the step ends" live '[1-9].*'
    live "${eight[@]}" sh -c 'echo ready; exec sleep 60'
    on n1 root pkill -KILL -u alice
    on login alice scancel -s KILL -u alice
    over "SIGKILL of all processes of the user on n1, as when memory is short" live '137|143'
    live "${eight[@]}" sh -c "echo ready; $waits"
    on n1 root pkill -KILL -u alice
    go
    over "... and the tasks on n2 end by themselves" live 137

    echo "# memory runs out on n1"
    # The processes of alice there get a memory cgroup of 96 MB, version 1 or 2, and one task
    # asks for 400. MODE task: the kernel takes the largest; runtime: the container first.
    script oom <<'SCRIPT'
#!/bin/bash
set -e
shift
at=/run/oom
group=$at/berth-oom.$RANDOM$RANDOM # another cluster may be here
mkdir -p $at
if mount -t cgroup -o memory none $at 2>/dev/null; then
    trap 'umount $at; rmdir $at' EXIT
    mkdir -p $group
    echo 96M >$group/memory.limit_in_bytes
else
    mount -t cgroup2 none $at
    trap 'umount $at; rmdir $at' EXIT
    echo +memory >$at/cgroup.subtree_control
    mkdir -p $group
    echo 96M >$group/memory.max
    echo 0 >$group/memory.swap.max
fi
for pid in $(pgrep -u alice); do
    echo "$pid" >$group/cgroup.procs || :
done
for pid; do
    echo 1000 >"/proc/$pid/oom_score_adj" || :
done
touch /home/alice/go
until grep -qs '^oom_kill [1-9]' $group/memory.{oom_control,events}; do
    sleep 0.1
done
touch /home/alice/killed
until ! pgrep -u alice >/dev/null; do
    sleep 0.1
done
grep -h '^oom_kill ' $group/memory.{oom_control,events} 2>/dev/null || :
until rmdir $group; do
    sleep 0.1
done
SCRIPT
    # hungry: a step of which one task on n1 wants more memory than there is.
    hungry() {
        on login alice rm -f killed
        live "${eight[@]}" sh -c "echo ready; $waits"'
            [ $SLURM_PROCID != 1 ] || exec dd if=/dev/zero of=/dev/null bs=400M count=1
            until [ -e ~/killed ]; do sleep 0.1; done; cat /etc/berth-image'
    }
    hungry
    if kills=$(on n1 root timeout 60 /home/alice/oom task 2>/dev/null) &&
        [[ $kills == "oom_kill "[1-9]* ]]; then
        over "the kernel ends a task that takes too much memory" live 137
        printed "... and the others go on" live 7 a
        hungry
        mapfile -t list < <(victims runtime)
        on n1 root timeout 60 /home/alice/oom runtime "${list[@]}" >/dev/null 2>&1
        over "the kernel ends the container for want of memory" live '[1-9].*'
        matches "... and that is said" "n1: the container died while the program ran" \
            "$(cat "$work/live")"
    else
        result skip "the kernel ends a task for want of memory" "no memory cgroup here: $kills"
        on login alice scancel -u alice
        over "a step without one" live '[0-9]+'
    fi
fi

live "${eight[@]}" sh -c 'echo ready; while :; do sleep 1; done'
on n1 root pkill -KILL -f '^slurmstepd: '
on n1 root bash -c 'rm -f /var/spool/slurmd/{n1_,hwloc_topo_}*' # Slurm's own
equal "SIGKILL of slurmstepd: nothing is left of its tasks" "" "$(left n1)"
on login alice scancel -u alice
over "... and the step ends" live '[0-9]+'

echo "# a job that waits"
live "${eight[@]}" sh -c "echo ready; $waits; cat /etc/berth-image"
job=$(on login alice squeue -h -u alice -t RUNNING -o %i)
on login root scontrol suspend "$job"
# Stopped by a signal, which Slurm sends some seconds later, or frozen with their cgroup.
soon "scontrol suspend: the tasks stop" "~^(T|D|D,T)$" "cut -c1 | sort -u | paste -sd," -- \
    on n1,n2 root bash -c 'ps -o stat= -p $(pgrep -u alice -x sh | paste -sd,)'
go
on login root scontrol resume "$job"
over "scontrol resume: they go on" live 0
printed "... in their image" live 8 a

echo "# side by side"
script overlap <<'SCRIPT'
#!/bin/bash
# Four steps in two images at once, one of which is cancelled.
for i in 0 1 2 3; do
    [ $((i % 2)) = 0 ] && image=a || image=b
    srun --overlap -N2 -n8 --container-image=/images/$image.sif \
        sh -c "echo ready; [ $i = 3 ] && exec sleep 30
            until [ -e ~/go ]; do sleep 0.1; done
            cat /etc/berth-image; exit $i" >overlap.$i 2>&1 &
    pids[i]=$!
    until [ -n "$(squeue -h -s -j "$SLURM_JOB_ID" -o %i | grep "\.$i\$")" ]; do sleep 0.05; done
done
until [ "$(cat overlap.? | grep -c ready)" = 32 ]; do sleep 0.1; done
scancel "$SLURM_JOB_ID.3"
touch ~/go
for i in 0 1 2 3; do
    wait "${pids[i]}"
    echo "step $i: $? $(grep -c '^a$' overlap.$i) $(grep -c '^b$' overlap.$i)"
done
SCRIPT
on login alice rm -f go
start overlap alice salloc -Q -w n1,n2 -N2 --ntasks-per-node=4 ./overlap
over "steps side by side in one job, one cancelled" overlap 0
equal "... and each ends as it should" \
    "step 0: 0 8 0,step 1: 1 0 8,step 2: 2 8 0,step 3: X 0 0" \
    "$(grep '^step' "$work/overlap" | sed -E 's/^(step 3: )[1-9][0-9]*/\1X/' | paste -sd,)"
on login bob rm -f go
start one alice srun -w n1 -N1 -n8 "$IMAGE" sh -c 'echo ready; sleep 60'
start other bob srun -w n1 -N1 -n8 --container-image=/images/a.sif \
    sh -c "echo ready; $waits; id -un; cat /etc/berth-image"
await one 8 ready
await other 8 ready
on login alice scancel -u alice
status=0
wait "${pid[one]}" || status=$?
equal "two users on one node: the one that is cancelled does not end with 0" yes \
    "$( ((status)) && echo yes)"
on login bob touch go
over "two users on one node: the other ends as usual" other 0
printed "... as itself, in its image" other 16 'bob|a'

echo "# the time limit"
over "a job comes to its time limit" limit '[1-9].*' n4
printed "... and was warned before (--signal), with the files of the image" limit 2 saved
over_all=$(left n1 n2 n3 n4)
equal "nothing at all is left" "" "$over_all"
finish
