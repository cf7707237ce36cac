#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # what stands in single quotes is for another shell
# A task sees in its image exactly what it would see under `srun ... $runtime exec`: the
# same environment, byte by byte, and the same identity, limits, mounts, descriptors,
# namespaces and CPUs; for many images, flags of the runtime and environments, with one
# container for all tasks and with one for each. And the container belongs to no task.
#
# Not compared, because berth differs on purpose:
# - variables that are not UTF-8: apptainer replaces each such byte (arguments.t has them);
# - the working directory, where the image does not have it or --contain covers it: the
#   runtime goes to another one and says nothing, berth stays there or refuses. So the
#   tasks are in the home directory, where the runtime would go;
# - the commands of Slurm in a container: BERTH_INSIDE, and the last word of PATH
#   (inside.t has them);
# - with --container-entrypoint APPTAINER_COMMAND, `exec` and not `run`, and APPTAINER_NO_EVAL:
#   the user has quoted the command for a task;
# - the parent of the application: the runtime, which is to die with it; slurmstepd; or
#   berth-init, in a container of its own.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a env entry noshell rank

pinned=${name}pin
at_exit '"$tool" down "$pinned" >/dev/null 2>&1'

# What differs between any two steps, in the environment. Nothing else may.
normalise_environment() {
    sed -E -e "$inside" \
        -e 's/^(SLURM_(STEP_?ID|STEP_LAUNCHER_PORT|SRUN_COMM_PORT|TASK_PID|JOB_NAME|STEP_SLUID|PMI2_SRUN_PORT)|PMI_JOBID|_)=.*/\1=.../' \
        -e 's/^PMI_FD=[0-9]+$/PMI_FD=.../' \
        -e 's/^(SLURM_(JOB_?ID|JOB_START_TIME|JOB_END_TIME|JOB_SLUID|SLUID))=.*/\1=.../'
}

# The same for the rest: numbers of pipes, mounts, devices, peer groups, steps. Which number
# PMI's descriptor has is slurmstepd's affair; that PMI_FD names it is told by the probe.
normalise_state() {
    sed -E -e 's/(pipe|socket):\[[0-9]+\]/\1/' \
        -e 's/^descriptor [0-9]+ (.* socket)$/descriptor N \1/' \
        -e 's/^[0-9]+ [0-9]+ [0-9]+:[0-9]+ (.*) master:[0-9]+/M M D \1 master:N/' \
        -e 's/^[0-9]+ [0-9]+ [0-9]+:[0-9]+ /M M D /' \
        -e 's,(job|step)_[0-9]+,\1_N,g'
}

# Rows: image; flags of the runtime; environment; exec, or run for the entry point.
rows=()
for image in a.sif a.dir env.sif entry.sif noshell.sif; do
    rows+=("$image;;usual;exec")
    for flags in "" --cleanenv --no-home --contain; do
        rows+=("$image;$flags;rich;exec")
    done
done
rows+=("rank.sif;;usual;exec" "entry.sif;;rich;run")

on login alice bash -c 'mkdir -p conf && cat >conf/probe.c && cd conf &&
    gcc -O1 -D_GNU_SOURCE -static -o probe probe.c' <"$here/probe.c" || exit 1

# corpus MODE ROW...: each row in a step of three tasks, several at once. What the probes
# write goes to ~/conf/MODE/NUMBER.RANK.*
script conf/corpus <<'SCRIPT'
#!/bin/bash
runtime=$(command -v apptainer singularity | head -n 1)
mode=$1
shift
rm -rf ~/conf/"$mode"
mkdir ~/conf/"$mode"

rich() {
    export APPTAINERENV_FOO="apptainer's foo" SINGULARITYENV_BAR='singularity  bar = "b"'
    export SINGULARITYENV_EMPTY='' APPTAINERENV_LINES_OF=$'one\ntwo' APPTAINERENV_DOLLAR='$HOME'
    export APPTAINERENV_TASK='task $SLURM_PROCID in $PWD'
    export APPTAINERENV_PREPEND_PATH=/in/front:/of/it SINGULARITYENV_APPEND_PATH='/behind it'
    export NEWLINES=$'one\n\ntwo\n' UTF8='grüße ☃ 𝄞' NOTHING='' EQUALS='=a=b='
    export QUOTES='it'"'"'s "$HOME" `x` \n' TABS=$'\ta\t\x01' OUTSIDE='from outside' REMOVED='yes'
    export GOGC=77 DOCKER_PLAIN='from outside' DOCKER_EMPTY='from outside' OVERRIDE='from outside'
    export LD_LIBRARY_PATH=/opt/host/lib:/usr/local/lib PS1='\u \$ ' TMPDIR=/var/tmp LONG
    LONG=$(printf '%05000d' 7)
    export PATH="$PATH::relative/bin:/usr/bin:/with a blank"
    export APPTAINER_BIND=/opt:/bound CDPATH=/usr PROMPT_COMMAND=true PYTHONPATH=/host/python
    greet() { echo "hello $1"; }
    export -f greet
}

one() {
    local image flags environment how words out
    IFS=';' read -r image flags environment how <<<"$2"
    image=/images/$image
    out=/probe/$mode/$1
    flags+=" --bind /home/alice/conf:/probe"
    words=(srun -Q --overlap -n3 --mpi=pmi2)
    [[ $flags != *--no-home* ]] || cd /tmp || exit
    [[ $environment != rich ]] || rich
    [[ $environment != rich ]] || words=(env DOTTED.NAME-1=yes "${words[@]}")
    # Where nothing of the environment is left, only a --multi-prog file tells a task its rank.
    [[ $flags != *--cleanenv* ]] || how=multi
    case $mode,$how in
    plain,multi) echo "0-2 $runtime --silent exec $flags $image /probe/probe $out %t" ;;
    *) echo "0-2 /probe/probe $out %t" ;;
    esac >~/conf/"$mode/$1.multi"
    case $mode,$how in
    plain,multi) "${words[@]}" --multi-prog ~/conf/"$mode/$1.multi" ;;
    *,multi) "${words[@]}" --container-image="$image" --container-args="$flags" \
        --multi-prog ~/conf/"$mode/$1.multi" ;;
    bare,*) "${words[@]}" ~/conf/probe ~/conf/"$mode/$1" ;;
    # shellcheck disable=SC2086
    plain,*) "${words[@]}" "$runtime" --silent "$how" $flags "$image" /probe/probe "$out" ;;
    *)
        [[ $how != run ]] || words+=(--container-entrypoint)
        "${words[@]}" --container-image="$image" --container-args="$flags" /probe/probe "$out"
        ;;
    esac >~/conf/"$mode/$1.said" 2>&1 </dev/null
}

number=0
for row; do
    one "$number" "$row" &
    number=$((number + 1))
    ((number % 3)) || wait
done
wait
SCRIPT

# What an entry point does is `exec` for the runtime that berth starts; and it does not evaluate
# the command again.
normalise_run() {
    normalise_environment |
        sed -E "s/^${RUNTIME}_COMMAND=run\$/${RUNTIME}_COMMAND=exec/
            /^(APPTAINER|SINGULARITY)_NO_EVAL=/d"
}

# unlike MODE FILE NORMALISE NUMBER: what differs from plain, of all three tasks.
unlike() {
    local rank one=$work/plain/$4 other=$work/$1/$4
    for rank in 0 1 2; do
        if [[ ! -s $one.$rank.$2 || ! -s $other.$rank.$2 ]]; then
            echo "task $rank has not run: $(tail -n 3 "$one.said" "$other.said")"
            return
        fi
        diff -U0 <($3 <"$one.$rank.$2") <($3 <"$other.$rank.$2") | tail -n +3 |
            grep -v '^@@' | cut -c1-300 | sed "s/^/task $rank: /"
    done
}

# kin MODE: how a task stands to other processes, over all rows whose tasks know.
kin() { grep -hv '^--$' "$work/$1"/*.kin | grep -v 'started: unknown' | sort -u; }

# What runs on the node besides the tasks, `sleep 9.9`: `PROGRAM: FAULT` for each fault. A
# task's own parent gets the signals that it gets, so it is in its session.
cat >"$work/others" <<'SCRIPT'
#!/bin/bash
ours=${1:-.}
streams() {
    for fd in /proc/"$1"/fd/*; do readlink "$fd"; done | grep -E '^(pipe|socket):' | sort -u
}
session() { awk '{ print $6 }' /proc/"$1"/stat; }
spaces() { for pid in "${tasks[@]}"; do readlink "/proc/$pid/ns/$1"; done | sort -u | wc -l; }
mapfile -t tasks < <(pgrep -u alice -x sleep)
echo "${#tasks[@]} tasks, $(spaces user) user and $(spaces mnt) mount namespaces"
((${#tasks[@]})) || exit
parents=" $(for pid in "${tasks[@]}"; do ps -o ppid= -p "$pid"; done | tr -s '\n ' ' ')"
step=$(ps -o ppid= -p "$(pgrep -u alice -o .)")
for pid in "${tasks[@]}"; do
    streams "$pid"
done | sort -u >/tmp/conformance.ends
for pid in $(pgrep -u alice .); do
    [[ " ${tasks[*]} " != *" $pid "* ]] || continue
    name=$(<"/proc/$pid/comm")
    [[ $name =~ $ours ]] || continue
    others=$((others + 1))
    streams "$pid" | comm -12 - /tmp/conformance.ends | sed "s/^/$name: holds a task's /"
    for task in "${tasks[@]}"; do
        [[ $parents != *" $pid "* ]] || break
        [[ $(session "$pid") != "$(session "$task")" ]] || echo "$name: is in a task's session"
        [[ $(ps -o ppid= -p "$pid" | tr -d ' ') != "$task" ]] || echo "$name: is a task's child"
    done | sort -u
    cmp -s <(grep Cpus_allowed: "/proc/$pid/status") \
        <(grep Cpus_allowed: "/proc/${step// /}/status") ||
        echo "$name: has other CPUs than the step: $(grep Cpus_allowed: "/proc/$pid/status")"
done
((others)) && echo "others"
rm /tmp/conformance.ends
SCRIPT
script conf/others <"$work/others"

# Run the corpus, and bring what was written to $work.
words=()
for mode in bare plain shared; do
    words+=("./conf/corpus $mode $([[ $mode == bare ]] && echo "x" || printf '%q ' "${rows[@]}");")
done
# Not the last command, which bash would replace itself by: SHLVL tells.
LIMIT=900 alice salloc -Q -w n1 -N1 -n3 bash -c "${words[*]} true"
on login alice tar -C conf -cf - bare plain shared | tar -C "$work" -xf -

number=0
for row in "${rows[@]}"; do
    IFS=';' read -r image flags environment how <<<"$row"
    title="one container: $how $image${flags:+ $flags}, $environment environment"
    normalise=normalise_environment
    [[ $how != run ]] || normalise=normalise_run
    equal "$title: its variables" "" "$(unlike shared env "$normalise" "$number")"
    equal "$title: all else" "" "$(unlike shared state normalise_state "$number")"
    number=$((number + 1))
done
equal "one container: the application is the process that Slurm started, without children" \
    "$(kin bare)" "$(kin shared)"
matches "... its parent is slurmstepd" "parent: slurmstepd" "$(kin shared)"
matches "... it has no child that it does not know" "waitpid: No child processes" "$(kin shared)"

# Of all processes none belongs to a task.
start live alice srun -w n1 -N1 -n3 --container-image=/images/a.sif sleep 9.9
wait_for 10 has_processes n1 sleep 3
try "one container: all tasks share its namespaces, and it belongs to no task" \
    $'3 tasks, 1 user and 1 mount namespaces\nothers' -- on n1 root /home/alice/conf/others .
on n1 root pkill -u alice -x sleep
wait "${pid[live]}"
LIMIT=30 try "a reader behind srun sees the end with the tasks" 3 -- \
    bash -c 'srun -w n1 -N1 -n3 --container-image=/images/a.sif echo x | wc -l'

# Where Slurm binds a task to a core, the container is not bound to that of any: in a cluster
# of its own, because that is a setting of slurmd.
whole=$name
name=$pinned
if "$tool" up "$release" --name "$name" --nodes 1 --conf TaskPlugin=task/affinity >"$work/pinned" \
    2>&1 &&
    "$tool" install "$name" >>"$work/pinned" 2>&1; then
    start live alice srun -n2 --cpu-bind=cores --container-image=/images/a.sif sleep 9.9
    wait_for 10 has_processes n1 sleep 2
    equal "one container: the tasks are bound to a core each, and it has the CPUs of the step" \
        $'2\n2 tasks, 1 user and 1 mount namespaces\nothers' "$(on n1 root bash -c '
            for pid in $(pgrep -u alice -x sleep); do
                grep Cpus_allowed: /proc/$pid/status
            done | sort -u | wc -l
            bash -s .' <"$work/others")"
    on n1 root pkill -u alice -x sleep
    wait "${pid[live]}"
else
    result FAIL "a cluster with task/affinity comes up" "$(tail -n 5 "$work/pinned")"
fi
name=$whole

finish
