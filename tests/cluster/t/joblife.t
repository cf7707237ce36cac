#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # what stands in single quotes is for another shell
# On a cluster with PrologFlags=Contain: with --container-lifetime=job later steps of a job
# are in the container of the first one, if nothing makes it another one, whoever was killed;
# hundreds of steps of two users leave nothing.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b entry env mpibookworm
A=--container-image=/images/a.sif
at_exit 'on login alice scancel -u alice'

# life LIFETIME OPTION... COMMAND...: a step of that job, with the variables $with.
with=()
life() {
    alice env "${with[@]}" srun --jobid="$job" --overlap --overcommit "--container-lifetime=$1" \
        "${@:2}" 2>&1 </dev/null
}

# space [OPTION...]: in which container a step of one task is.
space() {
    (($#)) || set -- "$A"
    life job -N1 -n1 "$@" readlink /proc/self/ns/user
}

# process PATTERN: its number, on n1; of several the first.
process() { on n1 root pgrep -u alice -o -f "$1"; }

echo "# later steps"
allocate_tasks n1,n2 2
equal "two nodes: each task is in its image" "a a a a" \
    "$(life job -N2 -n4 "$A" cat /etc/berth-image | paste -sd' ')"
first=$(space "$A" -w n1)
matches "a step is in a container" '^user:' "$first"
try "a later step: the same container" "$first" -- space "$A" -w n1
try "... on another node: another container" "~^user:" "grep -vxF '$first'" -- space "$A" -w n2
try "... in another image: another container" "~^user:" "grep -vxF '$first'" \
    -- space --container-image=/images/b.sif -w n1
try "... with lifetime step: another container" "~^user:" "grep -vxF '$first'" \
    -- life step -w n1 -N1 -n1 "$A" readlink /proc/self/ns/user
matches "-v says so" "note: image '/images/a.sif': the job's container for 1 task" \
    "$(life job -v -w n1 -N1 -n1 "$A" true)"
equal "each step has mounts of its own" 2 \
    "$(for _ in 1 2; do life job -w n1 -N1 -n1 "$A" sh -c 'readlink /proc/self/ns/mnt; sleep 1' & \
    done | sort -u | wc -l)"
equal "many steps at once" "24 $first" "$(for _ in {1..24}; do space "$A" -w n1 & done | uniq -c |
    xargs)"
equal "the status of a step is its command's" 7 "$(life job -Q -w n1 -N1 -n1 "$A" sh -c 'exit 7' \
    >/dev/null; echo $?)"

allocate_tasks n1 1
first=$(space)
equal "berth ps lists it between steps" "$job job n1 /images/a.sif 0" \
    "$(alice berth ps | awk 'NR > 1 { print $1, $2, $3, $4, $6 }')"
matches "... with the memory and the time of its server" "[0-9.]+M +[0-9.]+s +[0-9]+  -$" \
    "$(alice berth ps "$job")"
equal "... also to root, on its node" "$job job" "$(on n1 root berth ps -u alice |
    awk 'NR > 1 { print $1, $2 }')"
equal "... and it can be entered" "a $first" \
    "$(alice berth enter "$job" sh -c \
    'echo $(cat /etc/berth-image) $(readlink /proc/self/ns/user)' 2>&1)"
life job -N1 -n1 "$A" sh -c 'sleep 100' >/dev/null 2>&1 &
# berth ps lists the step, too.
soon "a step is a copy without a server of its own" $'1 0 1\n0 1 0' \
    "awk 'NR > 1 { print \$2 == \"job\", \$6, \$7 ~ /M/ }'" -- berth ps
equal "... that is entered" a "$(alice berth enter "$job" cat /etc/berth-image 2>&1)"
end_jobs
on login alice salloc --no-shell -w n1 -n1 : -w n2 -n1 >/dev/null 2>&1
job=$(on login alice squeue -h -o %i | sed -n 's/+1$//p')
life job --het-group=0,1 -n1 "$A" --container-args=--cleanenv true >/dev/null
equal "a het job's have its number" "$job n1 $job n2" \
    "$(alice berth ps | awk 'NR > 1 { print $1, $3 }' | paste -sd' ')"
allocate_tasks n1,n2 2

echo "# what makes another container"
node_file n1 /home/alice/joblife.mounted <<<one
on n1 root chown alice /home/alice/joblife.mounted
mount=--container-mounts=/home/alice/joblife.mounted:/opt/mounted
first=$(space "$A" -w n1 "$mount")
try "a mounted file: the same container" "$first" -- space "$A" -w n1 "$mount"
on n1 alice bash -c 'echo more >>joblife.mounted'
try "... that was written: the same container" "$first" -- space "$A" -w n1 "$mount"
on n1 alice bash -c 'echo two >joblife.new && mv joblife.new joblife.mounted'
try "a file that was replaced: another container" "~^user:" "grep -vxF '$first'" \
    -- space "$A" -w n1 "$mount"
equal "... and is the new one" two "$(life job -w n1 -N1 -n1 "$A" "$mount" cat /opt/mounted)"
on n1 root rm -f /home/alice/joblife.mounted
on n1 root rm -rf /srv/joblife
on n1 root install -d -o alice /srv/joblife
equal "a directory of the node as working directory" "/srv/joblife" \
    "$(life job -w n1 -N1 -n1 -D /srv/joblife "$A" pwd)"
on n1 root mv /srv/joblife /srv/joblife.old
on n1 root install -d -o alice /srv/joblife
on n1 root touch /srv/joblife/new
equal "... that was made anew" new "$(life job -w n1 -N1 -n1 -D /srv/joblife "$A" ls)"
on n1 root rm -rf /srv/joblife /srv/joblife.old

on login alice bash -c \
    'mkdir -p joblife.one joblife.two && echo D=1 >joblife.one/data && echo D=2 >joblife.two/data'
for it in "--container-args=--bind=data:/opt/data" "--container-args=--env-file=data"; do
    first=$(space "$A" -w n1 -D /home/alice/joblife.one "$it")
    try "${it#*args=}: the same container" "$first" \
        -- space "$A" -w n1 -D /home/alice/joblife.one "$it"
    try "... in another directory: another container" "~^user:" "grep -vxF '$first'" \
        -- space "$A" -w n1 -D /home/alice/joblife.two "$it"
done
equal "... with the file of that directory" D=2 \
    "$(life job -w n1 -N1 -n1 "$A" -D /home/alice/joblife.two \
    --container-args=--bind=data:/opt/data cat /opt/data)"
on login alice rm -r joblife.one joblife.two

echo "# GPUs"
end_jobs
gpu_add
# What a step of one task sees of its GPUs, and in which container.
sees=("$A" sh -c \
    'echo "$CUDA_VISIBLE_DEVICES $(ls /.singularity.d/libs | grep -c cuda) $(readlink /proc/self/ns/user)"')
allocate -w n1 -n1 --gres=gpu:2 --overcommit
seen=$(life job -N1 -n1 --gres=gpu:1 "${sees[@]}")
first=${seen##* }
equal "a step with a GPU has its driver" "0 1 $first" "$seen"
try "one with two GPUs: the same container" "0,1 1 $first" \
    -- life job -N1 -n1 --gres=gpu:2 "${sees[@]}"
try "one without a GPU: another container" "~^user:" "grep -vxF '$first'" -- space "$A" --gres=none
try "... and one without the driver: another container" "~^user:" "grep -vxF '$first'" \
    -- space "$A" --gres=gpu:1 --container-gpu=none
put_back
allocate_tasks n1,n2 2

echo "# the environment"
E=--container-image=/images/env.sif
first=$(space "$E" -w n1)
with=(SPARE=1)
try "a variable that the image does not read: the same container" "$first" -- space "$E" -w n1
with=(DOCKER_PLAIN=1)
try "one that it reads: another container" "~^user:" "grep -vxF '$first'" -- space "$E" -w n1
with=()
# env_of LIFETIME [OPTION...]: what a task sees, but for the names of the step's srun.
env_of() { life "$1" -w n1 -N1 -n1 "$E" "${@:2}" env |
    sed -E -e '/^(SLURM|srun: )/d' -e "$inside" | sort; }
for it in NOTHING=1 DOCKER_PLAIN=mine DOCKER_PLAIN=plain DOCKER_PLAIN= LD_LIBRARY_PATH=/x \
    PATH=/opt/mine:/usr/bin:/bin APPTAINERENV_MINE=1 SINGULARITYENV_MINE=2 DOCKER_OVER=x HOME=/tmp \
    PS1=mine "DOCKER_BLANKS=two  blanks, and 'quotes'"; do
    with=("$it")
    equal "as with lifetime step: $it" "$(env_of step)" "$(env_of job)"
done
for it in NOTHING=1 MINE=1 LANG=C; do
    with=("$it")
    equal "as with lifetime step: --cleanenv, $it" "$(env_of step --container-args=--cleanenv)" \
        "$(env_of job --container-args=--cleanenv)"
done
with=()

echo "# what stays"
equal "what a step writes into --container-writable, the next one reads" written \
    "$(life job -w n1 -N1 -n1 "$A" --container-writable sh -c 'echo written >/opt/joblife'
    life job -w n1 -N1 -n1 "$A" --container-writable cat /opt/joblife)"
matches "... but not one with lifetime step" "/opt/joblife.*No such file" \
    "$(life step -w n1 -N1 -n1 "$A" --container-writable cat /opt/joblife)"

entry=--container-image=/images/entry.sif
first=$(space "$entry" -w n1)
equal "a step with the entry point: the same container, and nothing is evaluated twice" "$first 1" \
    "$(life job -Q -w n1 -N1 -n1 "$entry" --container-entrypoint sh -c \
    'echo "$(readlink /proc/self/ns/user) $SINGULARITY_NO_EVAL"')"

echo "# several that differ"
allocate_tasks n1 1
life job -Q -N1 -n1 "$A" --container-writable true
life job -Q -N1 -n1 "$A" --container-writable --container-mounts=/shared:/data sh -c \
    'echo mine >/which'
try "berth save refuses to guess, and lists what differs" \
    "~^berth: save: job $job: it has several containers; choose one by -w or --container${nl} *JOB
        .*${nl} *$job +job +n1 .* --container-writable${nl} *$job +job +n1 .*
        --container-mounts=/shared:/data:rw --container-writable${nl}status 1$" -- \
    berth save "$job" s1.sif
matches "... and so does berth enter" "several containers" \
    "$(alice berth enter "$job" cat /which 2>&1)"
id=$(alice berth ps "$job" | awk '/shared/ { print $9 }')
try "the one that is chosen is saved" /home/alice/s1.sif 'tail -n 1' \
    -- berth save --container "$id" "$job" s1.sif
equal "... with what was written to it" mine "$(life step -Q -N1 -n1 --container-image=s1.sif cat \
    /which)"
try "... or entered" mine -- berth enter "$job" --container "$id" cat /which
matches "a rank does not choose one" "no task of rank 1 runs in an image; choose by --container" \
    "$(alice berth save "$job" --rank 1 s2.sif 2>&1)"
on login alice rm -f s1.sif
allocate_tasks n1,n2 2
life job -Q -N2 -n2 "$A" --container-writable true
life job -Q -w n2 -N1 -n1 "$A" --container-writable sh -c 'echo two >/which'
try "of two nodes neither is guessed" \
    "~several containers; choose one by -w or --container${nl} *JOB .* n1 .* n2 .*status 1$" -- \
    berth save "$job" s1.sif
try "... and the one that is named is saved" two -- \
    sh -c "berth save -w n2 $job s1.sif >/dev/null 2>&1 &&
    srun -Q --jobid=$job --overlap --overcommit -N1 -n1 --container-image=s1.sif cat /which"
on login alice rm -f s1.sif

echo "# MPI"
MPI="--container-image=/images/mpibookworm.sif --mpi-bind=host"
# How many ranks ran on the host's library, over the image's.
for it in "MPICH|pmi2|mpich" "Open MPI|pmix|openmpi"; do
    IFS='|' read -r title pmi program <<<"$it"
    [[ $pmi != pmix ]] || has_pmix || continue
    # shellcheck disable=SC2086
    equal "$title: two steps on the host's library" 4 \
        "$(for _ in 1 2; do life job -N1 -w n1 -n2 --mpi=$pmi $MPI "/opt/t/$program/who"; done |
        grep -acE '^rank [01] of 2 .*\[[^ ]*!')"
done

echo "# alone"
on login alice bash -c 'cat >joblife.conf' <<'END'
0 --container-image=/images/a.sif cat /etc/berth-image
1 --container-image=/images/b.sif cat /etc/berth-image
END
matches "several containers on a node are the step's" \
    "one container for 1 task, not the job's: the step has several containers on this node" \
    "$(life job -v -w n1 -N1 -n2 --multi-prog joblife.conf)"
node_file n1 /tmp/ask.pl <<'PERL'
use Socket;
socket(my $socket, AF_UNIX, SOCK_SEQPACKET, 0);
connect($socket, pack_sockaddr_un("\0berth/$</$ARGV[0]/n1")) || die "no server: $!";
send($socket, "A", 0);
recv($socket, my $answer, 9, 0);
print "answer '$answer'\n";
PERL
user=$(process '[/]proc/self/fd/3 --hold')
equal "code in an image gets no answer" "answer ''" \
    "$(on n1 alice timeout 20 nsenter -t "$user" -U --preserve-credentials perl /tmp/ask.pl "$job" \
    2>&1)"
on n1 root rm -f /tmp/ask.pl

for i in {1..33}; do
    with=("APPTAINERENV_NUMBER=$i")
    last=$(life job -v -w n1 -N1 -n1 "$A" sh -c 'echo "number $NUMBER"')
    [[ $last == *"number $i"* ]] || result FAIL "the container of number $i" "$last"
done
with=()
matches "a job keeps 32 containers on a node" \
    "not the job's: the job's server has no container for the step" "$last"
allocate_tasks n1 1
equal "another job: the first step" a "$(life job -N1 -n1 "$A" cat /etc/berth-image)"
site <<<$'runtime:\n  start_timeout: 8'
server=$(process '[b]erth-start --job')
on n1 root kill -STOP "$server"
matches "a server that does not answer" \
    "not the job's: the job's server has no container for the step" \
    "$(life job -v -N1 -n1 "$A" true)"
on n1 root kill -CONT "$server"
site </dev/null
matches "... and does again" "the job's container for 1 task" "$(life job -v -N1 -n1 "$A" true)"

echo "# who is killed"
shares() { space && space; }
for it in '[/]proc/self/fd/3 --hold' 'Apptainer runtime parent|[s]tarter' '[s]quashfuse' \
    '[b]erth-start --job'; do
    allocate_tasks n1 1
    first=$(space)
    victim=$(process "$it")
    on n1 root kill -KILL "$victim" || result FAIL "there is a process $it" "$first"
    wait_for 10 on n1 root bash -c "[ ! -e /proc/$victim ]"
    soon "SIGKILL of ${it//[\[\]]/}: the next step runs" a \
        -- life job -N1 -n1 "$A" cat /etc/berth-image
    soon "... and the ones behind it: the same container" "2 user" \
        "uniq -c | sed 's/^ *//; s/user:.*/user/'" -- shares
done

# A process in another image gets the number of the container's first process, before the
# process that keeps the container sees that this one has ended.
allocate_tasks n1 1
life job -N1 -n1 "$A" true >/dev/null
holder=$(process '[/]proc/self/fd/3 --hold')
keeper=$(on n1 root pgrep -P "$(process '[b]erth-start --job')" | head -1)
life step -N1 -n1 --container-image=/images/b.sif sleep 100 >/dev/null 2>&1 &
wait_for 30 has_processes n1 sleep 1
task=$(process '^/(usr/)?bin/sleep 100')
on n1 root bash -c \
    'kill -STOP "$2" && kill -KILL "$(ps -o ppid= -p "$(ps -o ppid= -p "$1" | xargs)" | xargs)" "$1"
    sleep 0.5
    for _ in {1..100}; do
        echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid
        nsenter -t "$3" -U -m --preserve-credentials -S 2001 -G 2001 sleep 100 >/dev/null 2>&1 &
        [[ $! != "$1" ]] || break
        kill $!
    done' bash "$holder" "$keeper" "$task"
equal "another image has the number of the holder" "$(on n1 root readlink "/proc/$task/ns/mnt")" \
    "$(on n1 root readlink "/proc/$holder/ns/mnt")"
equal "... and a step is in its own" a "$(life job -N1 -n1 "$A" cat /etc/berth-image)"
end_jobs

echo "# what happens to a job"
allocate_tasks n1 1
first=$(space)
life job -N1 -n1 "$A" sleep 100 >/dev/null 2>&1 &
wait_for 30 has_processes n1 sleep 1
on login alice scancel "$(on login alice squeue -h -s -j "$job" -o '%i %j' | sed -n 's/ sleep$//p')"
wait
try "scancel of a step: the same container" "$first" -- space
live 1 --jobid="$job" --overlap --overcommit --container-lifetime=job -N1 -n1 "$A" sh -c \
    "echo ready; $waits; cat /etc/berth-image"
on login root scontrol suspend "$job"
on login root scontrol resume "$job"
go
ends "scontrol suspend, and resume: the step goes on" live 0
printed "... in its image" live 1 a
try "... and the next one is there: the same container" "$first" -- space
"$tool" restart "$name" n1
try "another slurmd: the same container" "$first" -- space

echo "# the process that keeps the containers of a job, in the extern step"
# The job's server, which is older than what it has started.
oldest=(on n1 root pgrep -of '^/usr/libexec/berth/berth-start --job ')
none="status 1"

# need_server TITLE: there is one: $server, and the slurmstepd that it waits for: $stepd; or the
# test ends: what follows kills such processes.
need_server() {
    server=$("${oldest[@]}")
    stepd=$(on n1 root ps -o args= -p "$server" | sed 's/.* //')
    matches "$1" '^[0-9]+ [0-9]+$' "$server $stepd"
    [[ "$server $stepd" =~ ^[0-9]+\ [0-9]+$ ]] || { finish; exit 1; }
}

allocate_tasks n1 1
equal "lifetime step: the image" a "$(life step -Q -n1 "$A" cat /etc/berth-image)"
try "... and no process stays" "$none" -- "${oldest[@]}"
fds=$(life step -Q -n1 "$A" sh -c 'ls /proc/self/fd')
equal "lifetime job: the image" a "$(life job -Q -n1 "$A" cat /etc/berth-image)"
need_server "... and one process stays"
equal "a task has no descriptor more" "$fds" \
    "$(life job -Q -n1 "$A" sh -c 'ls /proc/self/fd')"
try "later steps have the same process" "$server" -- "${oldest[@]}"
status=$(on n1 root cat "/proc/$server/status")
equal "it is the user's" "$(on n1 alice id -u) $(on n1 alice id -g) $(on n1 alice id -G |
    tr ' ' '\n' | sort -n | paste -sd' ')" \
    "$(awk '/^[UG]id:/ { for (i = 3; i <= 5; i++) if ($i != $2) $2 = "mixed"; printf "%s ", $2 }
        /^Groups:/ { $1 = ""; sub(/^ /, ""); sub(/ $/, ""); print }' <<<"$status")"
equal "... without a capability" "0000000000000000" \
    "$(sed -nE 's/^Cap(Inh|Prm|Eff|Amb):\t//p' <<<"$status" | sort -u)"
equal "... and may be killed where memory is short" 0 \
    "$(on n1 root cat "/proc/$server/oom_score_adj")"
equal "... on all CPUs" "$(on n1 root sed -n 's/^Cpus_allowed://p' /proc/1/status)" \
    "$(sed -n 's/^Cpus_allowed://p' <<<"$status")"
equal "... with PATH and the names of its step alone" \
    "PATH SLURMD_NODENAME SLURM_JOB_ID SLURM_STEP_ID" \
    "$(on n1 root cat "/proc/$server/environ" | tr '\0' '\n' | sed 's/=.*//' | sort | paste -sd' ')"
equal "it is nobody's child, and leads its session" "1 $server" \
    "$(on n1 root ps -o ppid=,sid= -p "$server" | xargs)"
equal "it has a socket, and nothing of slurmstepd's" "/dev/null /dev/null /dev/null socket" \
    "$(on n1 root bash -c "for fd in 0 1 2 3; do readlink /proc/$server/fd/\$fd; done" |
    sed 's/:.*//' | paste -sd' ')"
equal "... at the job's address" "@berth/2001/$job/n1" \
    "$(on n1 root sed -n 's/.* \(@berth.*\)/\1/p' /proc/net/unix | sort -u)"
equal "nobody waits for what has started it" "" "$(on n1 root ps -eo stat=,args= | grep '^Z')"
matches "it knows the extern step" '^slurmstepd: .*(extern|4294967292)' \
    "$(on n1 root ps -o args= -p "$stepd")"
end_jobs
soon "it ends with the job" "$none" -- "${oldest[@]}"

allocate_tasks n1 1
life job -Q -n1 "$A" true
need_server "another job has a process of its own"
on n1 root kill -KILL "$server"
soon "killed, it leaves nothing" "$none" -- "${oldest[@]}"
on n1 root kill -STOP "$stepd"
since=$(date +%s%N)
equal "an extern step that does not answer: a step runs" a \
    "$(life job -Q -n1 "$A" cat /etc/berth-image)"
matches "... and takes little longer" '^([0-9]|[0-9]{2}|[0-7][0-9]{2})$' \
    $((($(date +%s%N) - since) / 10000000))
try "... without that process" "$none" -- "${oldest[@]}"
on n1 root kill -CONT "$stepd"
equal "when it answers again: a step runs" a "$(life job -Q -n1 "$A" cat /etc/berth-image)"
try "... with that process" '~^[0-9]+$' -- "${oldest[@]}"
on n1 root bash -c "kill -KILL $stepd \$(pgrep -P $stepd)"
soon "it ends with the slurmstepd of the extern step" "$none" -- "${oldest[@]}"
on n1 root rm -f "/var/spool/slurmd/n1_$job.4294967292" # Slurm's own
matches "without an extern step: a step runs" \
    "not the job's: the job has no extern step on this node that can keep the container; set
        PrologFlags=Contain in slurm.conf, and not CLONE_NEWPID in namespace.yaml.*${nl}a" \
    "$(alice srun -v --jobid="$job" -n1 "$A" --container-lifetime=job cat /etc/berth-image 2>&1)"
try "... and with --container-writable a note says so without -v" \
    "~note: image '[^']*': one container for 1 task, not the job's: the job has no extern step on
        this node" -- \
    srun --jobid="$job" -n1 "$A" --container-lifetime=job --container-writable true
try "... without that process" "$none" -- "${oldest[@]}"
end_jobs

allocate_tasks n1 1
node_file n1 /tmp/squat.pl <<'PERL'
use Socket;
socket(my $socket, AF_UNIX, SOCK_SEQPACKET, 0);
bind($socket, pack_sockaddr_un("\0berth/2001/$ARGV[0]/n1")) && listen($socket, 9) || die $!;
$| = 1;
print "bound\n";
sleep 60;
PERL
on n1 bob perl /tmp/squat.pl "$job" >"$work/squat" 2>&1 </dev/null &
squatter=$!
wait_for 30 test -s "$work/squat"
equal "somebody has the address: a step runs" "bound a" \
    "$(cat "$work/squat") $(life job -Q -n1 "$A" cat /etc/berth-image)"
try "... without that process" "$none" -- "${oldest[@]}"
on n1 root pkill -u bob -x perl
wait "$squatter"
on n1 root rm -f /tmp/squat.pl
end_jobs

echo "# the end of a job"
allocate_tasks n1 2
live 2 --jobid="$job" --overlap --overcommit --container-lifetime=job -n2 "$A" sh -c \
    'echo ready; exec sleep 100'
allocate_tasks n1 1
wait
equal "another job of the user's, at once" a "$(life job -N1 -n1 "$A" cat /etc/berth-image)"
end_jobs
wait_for 30 is_clean
equal "nothing is left of it" "" "$left"

echo "# many steps of two users"
steps=100
[[ ! ${BERTH_EVERY-} ]] || steps=500
# The memory of slurmd, in kB; its own caches may grow.
memory='awk "/^VmRSS/ { print \$2 }" /proc/$(cat /run/slurm/slurmd.pid)/status'
many_steps 20
wait_for 60 has_no_job
before=$(on n1 root bash -c "$memory") since=$SECONDS
many_steps $steps
echo "# in $((SECONDS - since)) s"
more=$(($(on n1 root bash -c "$memory") - before))
equal "... and slurmd has not grown" yes "$( ((more < 8 * steps)) && echo yes || echo "$more kB")"
finish
