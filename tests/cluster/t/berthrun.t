#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Where nobody has installed the plugin: the tasks of `srun berth run` share a container on
# each node, as with it; what is killed, late or never comes ends or starts with one line.

# shellcheck disable=SC2016,SC2086 # words for other shells, and several words in $A
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b mpich openmpi
alice sh -c 'rm -rf v; mkdir v'
on login alice bash -c 'cat >v/memory.c && gcc -D_GNU_SOURCE -static -o v/memory v/memory.c' \
    <"$here/memory.c" || exit 1
# shellcheck disable=SC2154 # of lib.sh
stack=/etc/slurm/plugstack.conf.d/berth.conf
spoil "login,$nodes" "cp $stack /tmp/berth.conf; : >$stack" "mv /tmp/berth.conf $stack"
LIMIT=60
A="berth run --container-image=/images/a.sif"
B="berth run --container-image=/images/b.sif"
for it in a b; do
    script "count.$it" <<END
#!/bin/sh
echo "$it \$(readlink /proc/self/ns/mnt /proc/self/ns/user | paste -sd' ')"
\${1-:}
END
done

# containers COMMAND...: the images of the tasks, and how many containers they are in.
containers() { alice "$@" 2>&1 | sort | uniq -c | awk '{ print $1, $2 }'; }

equal "there is no plugin" 0 "$(alice srun --help | grep -c container-image)"
equal "tasks of two nodes: a container on each" $'4 a\n4 a' \
    "$(containers srun -Q -N2 -n8 --ntasks-per-node=4 $A ./count.a)"
equal "128 tasks" "128 a" "$(containers srun -Q -w n1 -n128 --overcommit $A ./count.a)"
equal "... whose user's shell allows few descriptors" "32 a" \
    "$(containers srun -Q -w n1 -n32 sh -c "ulimit -Sn 12; exec $A ./count.a")"
equal "two steps of a job at once: one each" $'3 a\n3 a' \
    "$(containers salloc -Q -w n1 -n6 bash -c \
    "srun -n3 --exact $A ./count.a 'sleep 2' & srun -n3 --exact $A ./count.a 'sleep 2'; wait")"
equal "tasks of an array: one each" $'2 a\n2 a' "$(
    script_submit
    script job <<<"#!/bin/sh
srun $A ./count.a 'sleep 2'"
    alice sh -c "rm -f array.*; ./submit -a 1-2 -w n1 -n2 -o array.%a job; cat array.*" | sort |
        uniq -c | awk '{ print $1, $2 }'
)"
equal "a heterogeneous job: each component has its image" $'2 a\n3 b' \
    "$(containers srun -Q -w n1 -n2 $A ./count.a : -w n2 -n3 $B ./count.b | grep -v 'berth:')"

equal "components of a step in one allocation, too" $'2 a\n3 b' \
    "$(containers salloc -Q -w n1,n2 -N2 --ntasks-per-node=3 srun -Q -w n1 -N1 -n2 $A ./count.a : \
    -w n2 -N1 -n3 $B ./count.b | grep -v 'berth:')"
try "an account of each" \
    "component 0: 3 tasks on 2 nodes run true in /images/a.sif
component 0: 3 tasks on 2 nodes run true in /images/b.sif" "grep -o 'component .*sif' | sort" -- \
    srun -Q -w n1 -n2 berth explain --container-image=/images/a.sif true : -w n2 -n1 berth explain \
    --container-image=/images/b.sif true

# Who is late, and who never comes.
equal "a task that comes late joins the others" "2 a" \
    "$(containers srun -Q -w n1 -n2 sh -c \
    "sleep \$SLURM_LOCALID; exec $A sh -c './count.a; sleep 3'")"
equal "a task that never comes: the others start" "2 a" \
    "$(containers srun -Q -w n1 -n3 sh -c "[ \$SLURM_LOCALID = 1 ] || exec $A ./count.a")"
matches "programs of a task that come and come keep nobody waiting" '^[01]$' \
    "$(alice srun -Q -w n1 -n2 sh -c \
    "[ \$SLURM_PROCID = 1 ] || for it in 1 2 3 4 5 6 7 8 9 10; do
    $A sh -c 'echo \$((\$(date +%s) - '\$(date +%s)'))' & sleep 0.3; done; wait" | sort -n |
    tail -n 1)"
equal "one after the other in a task, as often as it likes" $'1 a\n1 b\n1 a' \
    "$(alice srun -Q -n1 sh -c "$A ./count.a; $B ./count.b; $A ./count.a" | cut -d' ' -f1 |
    uniq -c | awk '{ print $1, $2 }')"

equal "one directory after the other: a container ends with its last task" 1 \
    "$(alice srun -Q -w n1 -n1 sh -c \
    "$B sleep 4 & sleep 1; for it in /tmp / ~/v; do cd \$it; $A true; done; sleep 0.5
        pgrep -c -u alice -x berth-start")"

# Lines of --multi-prog.
two() { printf '%s\n' "$@" | on login alice sh -c 'cat >programs; rm -f v/at*'; }
two "0,3 $A ./count.a" "1-2 $B ./count.b"
equal "--multi-prog: a container for each image" $'2 a\n2 b' \
    "$(containers srun -Q -w n1 -n4 --multi-prog programs)"
two "0 $A v/memory show v/at" "1 $B v/memory read v/at"
try "programs in two images read each other's memory" "read: memory of another image" \
    -- srun -Q -w n1 -n2 --multi-prog programs
two "0 $A --mpi-bind=hybrid env" "1 true"
matches "a program without an image: MPI is told" 'UCX_TLS=\^cma' \
    "$(alice srun -Q --mpi=pmi2 -w n1 -n2 --multi-prog programs 2>&1)"

# What a step is told, and its end.
try "the exit status is the command's" '~status 7$' -- srun -Q -w n1 -n2 $A sh -c 'exit 7'
try "one line for a node: an image that is not there" \
    "berth: n1: image '/home/alice/gone.sif': not found; check the path, and that the nodes see this
        file system
status 1" -- srun -Q -w n1 -n8 berth run --container-image=gone.sif true
try "one line: --export=NONE" \
    "~^berth: note: --export=NONE has dropped the environment[^$nl]*$nl/\$" -- \
    srun -Q -w n1 -n8 --export=NONE /usr/bin/berth run --container-image=/images/a.sif sh -c \
    '[ $SLURM_LOCALID != 0 ] || echo /'
ends_with_signal='trap "echo got it; exit 0" USR1; echo ready; while :; do sleep 0.1; done'
start live alice srun -Q -w n1 -n2 -J signal $A sh -c "$ends_with_signal"
await live 2 ready
on login alice scancel -s USR1 -n signal
ends "a signal is for the commands" live 0
printed "... each gets it once" live 2 "got it"

# MPI.
equal "--mpi-bind: one world, on the host's MPI" "0 1 2 3" \
    "$(alice srun -Q -N2 -n4 --ntasks-per-node=2 --mpi=pmi2 berth run \
    --container-image=/images/mpich.sif --mpi-bind=host mpiring 2>&1 |
        sed -nE 's/^rank ([0-9]) of 4 on .*MPICH.*/\1/p' | sort | paste -sd' ')"
matches "... whose ranks use CMA" '(ep_cfg|intra-node cfg).*cma/memory' \
    "$(alice srun -Q -w n1 -n2 --mpi=pmi2 --export=ALL,UCX_LOG_LEVEL=info berth run \
    --container-image=/images/mpich.sif --mpi-bind mpiring 2>&1)"
if has_pmix; then
    equal "components of a step: one world" "0 1 2 3" \
        "$(alice srun -Q --mpi=pmix -w n1 -n2 berth run --container-image=/images/openmpi.sif \
        --mpi-bind mpiring : \
            -w n2 -n2 berth run --container-image=/images/openmpi.sif --mpi-bind mpiring 2>&1 |
            sed -nE 's/^rank ([0-9]) of 4 on .*Open MPI.*/\1/p' | sort | paste -sd' ')"
    matches "... which hang with pmi2: refused" "berth: --mpi=pmi2: components of one step" \
        "$(alice salloc -Q -w n1,n2 -N2 --ntasks-per-node=2 srun -Q --mpi=pmi2 -w n1 -N1 -n2 berth \
        run --container-image=/images/mpich.sif --mpi-bind mpiring : \
            -w n2 -N1 -n2 berth run --container-image=/images/mpich.sif --mpi-bind mpiring 2>&1)"
    equal "a process manager that does not fit: one line" 1 \
        "$(alice srun -Q --mpi=pmi2 -w n1 -n4 berth run --container-image=/images/openmpi.sif \
        --mpi-bind=host mpiring 2>&1 | grep -c '^berth: ')"
fi

matches "a program that another task starts is seen, too" "warning: image '/images/openmpi.sif'" \
    "$(alice srun -Q --mpi=pmi2 -w n1 -n2 sh -c \
    "[ \$SLURM_PROCID = 0 ] && it='sleep 4' || { sleep 0.2; it=mpiring; }
        berth run --container-image=/images/openmpi.sif \$it; :" 2>&1)"

# Another user, who has taken the name, and may listen there or not.
script taken <<'END'
#!/bin/sh
berth run --container-image=/images/a.sif grep -ao '@berth/2001/.*' /proc/net/unix \
    >v/name.$SLURM_PROCID
while grep -qaF "$(cat v/name.0)" /proc/net/unix; do sleep 0.1; done
echo ready
until [ -e v/taken ]; do sleep 0.1; done
exec berth run --container-image=/images/a.sif true
END
for does in listen fileno; do
    alice sh -c 'rm -f v/name.* v/taken'
    start live alice srun -Q -w n1 -n2 --kill-on-bad-exit=0 ./taken
    await live 2 ready
    at=$(on login alice cat v/name.0)
    : >"$work/bob"
    on n1 bob timeout 15 python3 -c \
        "import socket, time; it = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
it.bind('\\0${at#@}'); it.$does(); print('taken', flush=True); time.sleep(15)" >"$work/bob" 2>&1 &
    await bob 1 taken
    on login alice touch v/taken
    ends "another user has the name, and does $does(): the tasks end" live 1
    [[ $does == listen ]] &&
        says="user 2002 has taken the name '$at', at which the tasks of this step meet; tell the
            administrators" ||
        says="nobody answers at '$at', where the tasks of this step meet; submit the step again"
    printed "... with one line" live 1 "berth: $says"
    on n1 root pkill -u bob -f taken
done

# Who is killed.
start live alice srun -Q -w n1 -n2 --kill-on-bad-exit=0 $A sh -c 'echo ready; sleep 3'
await live 2 ready
on n1 root pkill -KILL -u alice -x berth-start
ends "the container is killed while the tasks run: the step ends" live '.*'
printed "... with one line" live 1 'berth: n1: the container died while the program ran .*'
start live alice srun -Q -w n1 -n2 --kill-on-bad-exit=0 sh -c \
    "sleep \$SLURM_PROCID
        exec $A sh -c '[ \$SLURM_PROCID = 0 ] && exec sleep 2; sleep 2; echo ready; sleep 3'"
await live 1 ready
on n1 root pkill -KILL -u alice -x berth-start
ends "... after the end of the task that came first" live '.*'
printed "... with one line, too" live 1 'berth: n1: the container died while the program ran .*'
start live alice srun -Q -w n1 -n2 $A sh -c 'echo ready; sleep 300'
await live 2 ready
on n1 root pkill -KILL -u alice -x berth
ends "the process at which they have met is killed: the step ends" live '[1-9].*'
start live alice srun -Q -J gone -w n1 -n2 $A sh -c 'echo ready; sleep 300'
await live 2 ready
on login alice scancel -n gone
ends "scancel" live '[1-9].*'
start live alice srun -Q -J names -w n1 -n2 $A sh -c 'echo ready; sleep 300'
await live 2 ready
job=$(on login alice squeue -h -n names -o %i)
equal "the name is the one that internals.md has" 1 \
    "$(on n1 root grep -acE "@berth/2001/${job}[.]0/[0-9a-f]+\$" /proc/net/unix)"
on login alice scancel -n names
ends "... until its end" live '[1-9].*'
wait_for 10 is_clean
equal "nothing is left, not even a name" "" "$left$(on n1 root grep -a '@berth/2001/' \
    /proc/net/unix)"

# With the plugin, and in a container.
put_back
equal "with the plugin: the same" $'2 a\n2 a' "$(containers srun -Q -N2 -n4 --ntasks-per-node=2 $A \
    ./count.a)"
equal "... and a default is for berth run itself" "2 b" \
    "$(containers env BERTH_CONTAINER_IMAGE=/images/b.sif srun -Q -w n1 -n2 berth run ./count.b)"
spoil n1 "mkdir /.singularity.d" "rmdir /.singularity.d"
try "in a container: one line" \
    "berth: run: this process is in the image '/x.sif'; leave out --container-image of srun, or
        \`berth run\`
status 1" -- env APPTAINER_CONTAINER=/x.sif srun -Q -w n1 -n4 $A true
put_back

finish
