#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# berth enter runs a command in the container of a step, as a task of it runs; berth ps lists
# the containers.

# shellcheck disable=SC2016,SC2086 # words, and variables of other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b desk
LIMIT=60
A=--container-image=/images/a.sif
B=--container-image=/images/b.sif

# A task that says that it runs: `stay`.
script stay <<'EOT'
#!/bin/sh
echo "ready $SLURM_JOB_ID $SLURM_STEP_ID"
exec sleep 1000
EOT
S="/bin/sh /home/alice/stay"

# begin COUNT SRUN-ARGUMENT...: a step of so many tasks, which run; sets job and step.
begun=0
begin() {
    LIMIT=600 start $((++begun)) alice srun "${@:2}"
    await $begun "$1" 'ready .*'
    read -r _ job step < <(grep ^ready "$work/$begun")
}

script_pty

# --- one image on two nodes
begin 4 -w n1,n2 -N2 -n4 --ntasks-per-node=2 $A --container-workdir=/usr $S
try "an image is entered" a -- berth enter "$job" cat /etc/berth-image
try "the first node is taken" "n1 0" -- \
    berth enter "$job" sh -c 'echo $SLURMD_NODENAME $SLURM_PROCID'
try "another node" n2 -- berth enter "$job.0" -w n2 printenv SLURMD_NODENAME
try "the container of a rank, as that rank" "n2 3" -- \
    berth enter --rank 3 "$job" sh -c 'echo $SLURMD_NODENAME $SLURM_PROCID'
try "the namespaces of the task, and its capabilities" "" -- berth enter "$job" sh -c '
    for it in self $SLURM_TASK_PID; do
        readlink /proc/$it/ns/user /proc/$it/ns/mnt /proc/$it/ns/pid /proc/$it/root
        grep -E "^(Cap|NoNewPrivs|Uid|Groups)" /proc/$it/status
    done >/tmp/enter.$$; n=$(($(wc -l </tmp/enter.$$) / 2))
    head -n $n /tmp/enter.$$ >/tmp/enter.$$.1; tail -n $n /tmp/enter.$$ | diff /tmp/enter.$$.1 -
    rm /tmp/enter.$$ /tmp/enter.$$.1'
try "the directory of the task" /usr -- berth enter "$job" pwd
equal "the environment of the task, byte by byte" \
    "$(alice berth enter "$job" sh -c 'cat /proc/$SLURM_TASK_PID/environ' </dev/null |
    tr '\0' '\n' | grep -av ^TERM=)" \
    "$(alice berth enter "$job" cat /proc/self/environ </dev/null | tr '\0' '\n' | grep -av ^TERM=)"
equal "TERM is the caller's" vt52 "$(on login alice env TERM=vt52 berth enter "$job" printenv TERM)"
try "words that srun would read" "a : b --quiet  c d" \
    -- berth enter "$job" echo a : b --quiet '' 'c d'
equal "what the caller wants of its own steps does not matter" a \
    "$(on login alice env SLURM_NTASKS=4 SLURM_NNODES=2 SLURM_EXPORT_ENV=NONE SLURM_JOB_ID=1 \
        BERTH_CONTAINER_IMAGE=/images/b.sif SLURM_MPI_TYPE=pmi2 berth enter "$job" cat \
        /etc/berth-image 2>&1)"
equal "a shell" "shell 7 status 3" \
    "$(on login alice sh -c \
    "echo 'echo shell \$((3 + 4)); exit 3' | berth enter $job 2>/dev/null; echo status \$?" |
    paste -sd' ')"
equal "a megabyte goes in and comes out" same "$(on login alice sh -c "
    head -c 1048576 /dev/urandom >bytes
    [ \"\$(berth enter $job cat <bytes | sha256sum)\" = \"\$(sha256sum <bytes)\" ] && echo same
    rm bytes")"
equal "bytes come as they are written, without a newline" "abc def" \
    "$(on login alice timeout 30 bash -c "
    coproc berth enter $job cat
    printf abc >&\${COPROC[1]}; read -rN3 one <&\${COPROC[0]}
    printf def >&\${COPROC[1]}; read -rN3 two <&\${COPROC[0]}
    echo \$one \$two" 2>/dev/null)"
try "a pipe is not a terminal" "pipes" -- berth enter "$job" sh -c \
    'test -t 0 || test -t 1 || echo pipes'
try "a terminal is one" '~^/dev/pts/[0-9]' -- ./pty.py berth enter "$job" tty
try "the status is the command's" "status 5" -- berth enter "$job" sh -c 'exit 5'
try "also of one that is killed" "status 137" -- berth enter "$job" sh -c 'kill -9 $$'
try "a child in the background keeps nobody" here -- berth enter "$job" sh -c \
    'sleep 1000 2>/dev/null & echo here'
try "a command that is not there" \
    "~^berth: n1: image '/images/a.sif': command 'nope' is not on the image's PATH .*status 127$" \
    -- \
    berth enter "$job" nope

# --- what is listed
row=' +[0-9-]{10}T[0-9:]{8} +2 +[0-9.]+M +[0-9.]+s +[0-9]+  -'
matches "berth ps lists each node" \
    "^ *JOB  STEP  NODE  IMAGE          SINCE                TASKS +RSS +CPU +ID  OPTIONS
 *$job  0     n1    /images/a.sif$row
 *$job  0     n2    /images/a.sif$row$" "$(alice berth ps)"
equal "a job's as JSON" '"n1" "n2"' \
    "$(alice berth ps --json "$job" | sed -n 's/.*"node": \(.*\),/\1/p' | paste -sd' ')"
equal "root, on a node, that of a user" "$job n1" "$(on n1 root berth ps -u alice |
    awk 'NR > 1 { print $1, $3 }')"
# pretend NAME COMMAND...: alice's process that looks like a container of a job, started by
# COMMAND, and what root then sees of it.
pretend() {
    on n1 alice cp /usr/bin/sleep ./berth-init
    on n1 "${@:2}" env -i SLURM_JOB_ID=77 SLURM_STEP_ID=extern "APPTAINER_CONTAINER=$1" \
        /home/alice/berth-init 60 >/dev/null 2>&1 </dev/null &
    wait_for 10 on n1 root pgrep -xf '/home/alice/berth-init 60' >/dev/null
    on n1 root berth ps -u alice 77
    on n1 root pkill -x -f '/home/alice/berth-init 60'
    wait $!
}
matches "an image cannot write to a terminal" ' \./x\\x1b\[2J\\x1b\]0;title\\x07 ' \
    "$(pretend $'./x\e[2J\e]0;title\a' alice | cat -v)"
equal "... also to root's" "" "$(pretend $'./x\e[2J' alice | grep $'\e')"
equal "what alice may not read, root does not read for her" "" \
    "$(pretend ./x root setpriv --reuid alice --regid alice --init-groups --inh-caps +sys_nice \
    --ambient-caps +sys_nice | grep 77)"
equal "others have none" 1 "$(on login bob berth ps | wc -l)"
equal "bob does not see alice's on the node" 1 "$(on n1 bob berth ps | wc -l)"

# --- what is refused
try "a job that is not there" \
    "~^berth: enter: job 99999: slurm_load_jobs error: Invalid job id specified${nl}status 1$" \
    -- berth enter 99999
matches "bob is kept out" \
    "^berth: enter: job $job: not yours, or Slurm does not know it[^"$'\n'"]*$" \
    "$(on login bob berth enter "$job" cat /etc/berth-image 2>&1)"
later=$(on login alice sbatch --parsable --begin=now+1hour --wrap true)
try "a job that waits" \
    "~^berth: enter: job $later: expected a job that is RUNNING, got 'PENDING'${nl}status 1$" \
    -- berth enter "$later"
end_jobs

# --- several steps of a job, and one that has no image
allocate -w n1 -N1
try "no container" "~^berth: enter: job $job: no step of it runs in an image${nl}status 1$" \
    -- berth enter "$job" true
in_job=("--jobid=$job" --overlap -N1 -n1)
begin 1 "${in_job[@]}" $A $S
first=$step
begin 1 "${in_job[@]}" $B $S
begin 1 "${in_job[@]}" $S
try "the newest step with an image" b -- berth enter "$job" cat /etc/berth-image
try "a step by its number" a -- berth enter "$job.$first" cat /etc/berth-image
try "a step without an image" \
    "~^berth: enter: job $job: step $step does not run in an image; see berth ps $job${nl}status
        1$" -- berth enter "$job.$step" true
try "another node" \
    "~^berth: enter: job $job: no such container on 'n9'; expected -w n1${nl}status 1$" \
    -- berth enter "$job" -w n9 true
end_jobs

# --- components
begin 2 -w n1 -n1 $A $S : -w n2 -n1 $B $S
try "a het job: a component by its offset" $'a\nb' -- \
    sh -c "berth enter $job+0 cat /etc/berth-image; berth enter $job+1 cat /etc/berth-image"
try "... or by its number" $'a\nb' -- \
    sh -c "berth enter $job --component 0 cat /etc/berth-image
        berth enter $job --component 1 cat /etc/berth-image"
try "... or it is asked for" \
    "~^berth: enter: job $job: step 0 has several containers; choose one by -w, --container,
        --component or --rank${nl} *JOB +STEP .*${nl} *$job +0\+0 +n1 .*${nl} *$job +0\+1 +n2
        .*${nl}status 1$" -- berth enter "$job"
id=$(alice berth ps | awk '$2 == "0+1" { print $9 }')
try "... or by its ID" b -- berth enter "$job" --container "$id" cat /etc/berth-image
equal "both are listed" "0\+0 n1 0\+1 n2" "$(alice berth ps | awk 'NR > 1 { print $2, $3 }' |
    paste -sd' ' | sed 's/+/\\+/g')"
end_jobs
allocate -w n1,n2 -N2
begin 2 --jobid="$job" -w n1 -N1 -n1 $A $S : -w n2 -N1 -n1 $B $S
try "a het step: a component by its number" $'a\nb' -- \
    sh -c "berth enter $job.$step --component 0 cat /etc/berth-image
        berth enter $job.$step+1 cat /etc/berth-image"
end_jobs

# --- lines of a --multi-prog file: two images on one node
lines "0 $A $S" "1-2 $B $S"
begin 3 -w n1 -n3 -O --multi-prog lines
try "each line has its image" $'a\nb\nb' \
    -- sh -c "for rank in 0 1 2; do berth enter $job --rank \$rank cat /etc/berth-image; done"
equal "each image is listed with its tasks" "/images/a.sif 1 /images/b.sif 2" \
    "$(alice berth ps | awk 'NR > 1 { print $4, $6 }' | paste -sd' ')"
end_jobs

# --- a debugger, and ssh: the image has a server, and its client runs on the login host
begin 1 -w n1 -n1 --container-image=/images/desk.sif $S
try "gdb on a task" "~nanosleep" -- berth enter "$job" sh -c \
    'gdb -p $SLURM_TASK_PID -batch -ex bt 2>&1'
on login alice sh -s "$job" <<'EOT'
cd /images/desk.dir/usr/bin
mkdir -m 700 ~/.ssh
for it in server client; do ./ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/$it; done
cp ~/.ssh/client.pub ~/.ssh/authorized_keys
cat >~/.ssh/config <<END
Host *
  IdentityFile ~/.ssh/client
  StrictHostKeyChecking no
  HostKeyAlias server
  LogLevel ERROR
Host job
  ProxyCommand berth enter $1 /usr/sbin/sshd -i -h .ssh/server -o UsePAM=no 2>/dev/null
Host task
  ProxyCommand berth enter $1 sh -c 'env >~/.ssh/environment; exec /usr/sbin/sshd -i -h ~/.ssh/server -o UsePAM=no -o PermitUserEnvironment=yes' 2>/dev/null
END
EOT
ssh=(/images/desk.dir/usr/bin/ssh -F .ssh/config)
try "ssh leads into the container" $'trixie\nstatus 4' \
    -- "${ssh[@]}" job '. /etc/os-release; echo $VERSION_CODENAME; exit 4'
try "... and with the environment of the task, if it wants" "n1 $job" \
    -- "${ssh[@]}" task 'echo $SLURMD_NODENAME $SLURM_JOB_ID'
equal "a file goes in and comes out" same "$(on login alice bash -c '
    head -c 3000000 /dev/urandom >bytes
    printf "put bytes /tmp/bytes.ssh\nget /tmp/bytes.ssh back\nrm /tmp/bytes.ssh\n" |
        /images/desk.dir/usr/bin/sftp -q -S /images/desk.dir/usr/bin/ssh -F .ssh/config -b - job
    cmp bytes back && echo same; rm -f bytes back' 2>&1 | tail -n 1)"
equal "a port of the container" "PRETTY_NAME" "$(on login alice timeout 60 bash -c '
    ssh="/images/desk.dir/usr/bin/ssh -F .ssh/config"
    $ssh -L 9123:127.0.0.1:8123 job "cd /etc && exec timeout 50 python3 -m http.server --bind 127.0.0.1 8123" &
    for i in {1..500}; do
        # In a shell of its own: nobody may read yet, which ends one that writes.
        (exec 3<>/dev/tcp/127.0.0.1/9123 && printf "GET /os-release HTTP/1.0\r\n\r\n" >&3 &&
            grep -ao PRETTY_NAME <&3) && break
        sleep 0.1
    done
    kill %1' 2>/dev/null)"
end_jobs
on login alice rm -rf .ssh

# --- an array
job=$(on login alice sbatch --parsable --array=3 -w n1 -o /dev/null --wrap "srun -n1 $A $S")
wait_for 30 has_processes n1 sleep 1
try "a job of an array" a -- berth enter "${job}_3" cat /etc/berth-image
end_jobs

# --- containers of another kind
begin 1 -w n1 -n1 $A --container-args=--cleanenv $S
job=$(on login alice squeue -h -o %A)
try "one that keeps the environment out" a -- berth enter "$job" cat /etc/berth-image
end_jobs
begin 1 -w n1 -n1 $A sh -c 'echo "ready $SLURM_JOB_ID $SLURM_STEP_ID"; exec env -i sleep 1000'
wait_for 30 has_processes n1 sleep 1
equal "where the task has emptied its environment: that of the container, without the runtime's" \
    "/images/a.sif" \
    "$(alice berth enter "$job" env | sed -nE \
    's/^(GOGC|APPTAINER_CONTAINER|SINGULARITY_CONTAINER)=//p' | sort -u)"
end_jobs
on login alice sh -c 'rm -f lines stay pty.py'
finish
