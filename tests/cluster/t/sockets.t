#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Which sockets a hostile image in --contain reaches in each mode, and what each of them believes;
# whose
# names it can take, and what it is sent there: nothing.

# shellcheck disable=SC2016,SC2154 # words for other shells; variables of lib.sh
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b
LIMIT=60
on login alice bash -c \
    'rm -rf poc go; mkdir poc; cat >poc/sockets.c &&
    gcc -O1 -D_GNU_SOURCE -static -o poc/sockets poc/sockets.c' \
    <"$here/sockets.c" || exit 1
A=--container-image=/images/a.sif
B=--container-image=/images/b.sif
hostile=("$A" --container-args=--contain --container-mounts=/home/alice/poc:/poc:ro)
host=$(on n1 alice sh -c 'for it in user pid mnt; do readlink /proc/self/ns/$it; done' |
    tr -dc '0-9\n' | paste -sd,)
version=$(alice berth --version | cut -d' ' -f2)

# reaches TITLE EXPECTED: what an image in --contain reaches on n1 while something else runs there.
known='s,/[0-9]+[.][0-9]+/[0-9a-f]+:,/JOB.STEP/HASH:,; s,^@berth/2001/[0-9]+/,@berth/2001/JOB/,
    s,^@[0-9a-f]{5}:,@KERNEL:,'
reaches() { try "$1" "${2}listed" "sed -E '$known' | LC_ALL=C sort" \
    -- srun -Q -w n1 --overlap "${hostile[@]}" /poc/sockets list; }
silent=': 0 bytes, 0 descriptors'

# stay TITLE EXPECTED SRUN-WORD...: it reaches that while such a step runs.
stay() {
    live 1 -Q -w n1 --overlap "${@:3}"
    reaches "$1" "$2"
    end_jobs
}
ready='echo ready; exec sleep 100'

echo "# what an image reaches"
on n1 alice timeout 30 python3 -c \
    "import socket, time; it = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
it.bind('/home/alice/poc/own'); it.listen(9); print('ready', flush=True); time.sleep(30)" \
    >"$work/own" &
await own 1 ready
reaches "what the user mounts, with a socket in it" "/poc/own$silent$nl"
on login alice rm poc/own
reaches "nothing runs: no socket" ''
stay "a step in --contain: no socket" '' "${hostile[@]}" sh -c "$ready"
stay "a plain step: that of srun in its container, which asks for a proof" "@KERNEL$silent$nl" \
    "$A" sh -c "$ready"
printf '%s\n' "0 $A sh -c '$ready'" "1 $B sleep 100" | on login alice sh -c 'cat >programs'
stay "several images: one for each" "@KERNEL$silent$nl@KERNEL$silent$nl" -n2 --multi-prog programs
stay "berth run in a step: that of its task server, too" \
    "@KERNEL$silent$nl@berth/2001/JOB.STEP/HASH$silent$nl" \
    berth run "$A" sh -c "$ready"
stay "... in --contain: that one alone" "@berth/2001/JOB.STEP/HASH$silent$nl" berth run \
    "${hostile[@]}" sh -c "$ready"
stay "a container that the job keeps: that of the job's server, too" \
    "@KERNEL$silent$nl@berth/2001/JOB/n1$silent$nl" \
    --container-lifetime=job "$A" sh -c "$ready"
stay "an srun in a container" "@KERNEL$silent$nl@KERNEL$silent$nl" "$A" srun -Q --overlap "$A" sh \
    -c "$ready"
start live alice berth run "$A" sh -c "$ready"
await live 1 ready
try "berth run outside of a step: no socket" listed "sed -E '$known' | LC_ALL=C sort" -- \
    berth run "${hostile[@]}" /poc/sockets list
on login root pkill -u alice -x sleep
wait "${pid[live]}"

echo "# what an image takes"
# A hostile program is ready, and then a command is run.
squat() {
    start squat alice "$@"
    await squat 1 ready
}
come='a task has come, and has sent .*'
squat srun -Q -w n1 --overlap "${hostile[@]}" timeout 50 /poc/sockets steps "$host" "$version"
live 1 -Q -w n1 --overlap sh -c "echo ready; $waits; exec berth run $B cat /etc/berth-image"
await squat 1 'has the name of step .*'
go
ends "the name of a step's task server: the step ends" live 1
printed "... with one line, and not in that image" live 1 \
    "berth: process [0-9]+, of a program in a container, has taken the name
        '@berth/2001/[0-9.]+/[0-9a-f]+', at which the tasks of this step meet; end it, and do not
        trust its image"
printed "... a task has connected" squat 1 "$come"
printed "... and has sent nothing" squat 1 'a task has come, and has sent 0 bytes, 0 descriptors'
end_jobs

script squat <<END
#!/bin/sh
host=\$(for it in user pid mnt; do readlink /proc/self/ns/\$it; done | tr -dc '0-9\n' | paste -sd,)
exec berth run ${hostile[*]} timeout 20 /poc/sockets pids "\$host" "$version" \$((\$\$ + 10)) 3000
END
squat ./squat
try "the names of processes outside of a step: nobody asks there" b \
    -- berth run "$B" cat /etc/berth-image
printed "... or comes" squat 0 "$come"
on login root pkill -u alice -x sockets
wait "${pid[squat]}"

allocate -w n1 -n2
squat srun -Q --jobid="$job" --overlap -n1 "${hostile[@]}" timeout 50 /poc/sockets take \
    "berth/2001/$job/n1"
try "the name of a job's server: the step has its own container" \
    "~a process of user 2001 has taken the address of the job's server on this node.*${nl}b$nl" -- \
    srun -v --jobid="$job" --overlap -n1 --container-lifetime=job "$B" cat /etc/berth-image
printed "... and sends nothing" squat 0 'a task has come, and has sent ([1-9].*|0 bytes, [1-9].*)'
end_jobs
on login alice rm -rf poc squat

finish
