#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016 # what stands in single quotes is for another shell
# On a cluster with PrologFlags=Contain: the process that keeps the containers of a job, from
# slurmstepd to the extern step, and how it ends.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a

I=--container-image=/images/a.sif
work=$(mktemp -d)
trap 'on login alice scancel -u alice; rm -rf "$work"' EXIT

# need_number TITLE SEEN: a number, or the test ends: what follows kills such processes.
need_number() {
    [[ ! $2 =~ ^[0-9]+$ ]] || return 0
    result FAIL "$1" "seen: ${2@Q}"
    finish
    exit 1
}

# A job on n1, whose number is in $job then.
job() {
    job=$(on login alice salloc --no-shell -w n1 -N1 2>&1 | sed -n 's/.*Granted job allocation //p')
    need_number "there is a job" "$job"
}

# step OPTION... COMMAND...: a step of that job.
step() { alice srun -Q --jobid="$job" -n1 "$@" 2>&1; }

# The job's server, which is older than what it has started.
oldest() { on n1 root pgrep -of '^/usr/libexec/berth/berth-start --job '; }

# need_server TITLE: there is one: $server, and the slurmstepd that it waits for: $stepd.
need_server() {
    server=$(oldest)
    need_number "$1" "$server"
    result ok "$1"
    stepd=$(on n1 root ps -o args= -p "$server" | sed 's/.* //')
    need_number "$1" "$stepd"
}

has_no_server() { ! oldest; } >/dev/null
# no_server TITLE: it ends.
no_server() {
    wait_for 60 has_no_server
    equal "$1" "" "$(oldest)"
}

# over: end the job, and wait until it has ended.
over() {
    on login alice scancel "$job"
    wait_for 60 has_no_job || result FAIL "the job ends" "$(on login alice squeue)"
}

job
equal "lifetime step: the image" a "$(step "$I" cat /etc/berth-image)"
equal "... and no process stays" "" "$(oldest)"
fds=$(step "$I" sh -c 'ls /proc/self/fd')
equal "lifetime job: the image" a "$(step "$I" --container-lifetime=job cat /etc/berth-image)"
need_server "... and one process stays"
equal "a task has no descriptor more" "$fds" \
    "$(step "$I" --container-lifetime=job sh -c 'ls /proc/self/fd')"
equal "later steps have the same process" "$server" "$(oldest)"
status=$(on n1 root cat "/proc/$server/status")
equal "it is the user's" "$(on n1 alice id -u) $(on n1 alice id -g) $(on n1 alice id -G | tr ' ' '\n' | sort -n | paste -sd' ')" \
    "$(awk '/^[UG]id:/ { for (i = 3; i <= 5; i++) if ($i != $2) $2 = "mixed"; printf "%s ", $2 }
        /^Groups:/ { $1 = ""; sub(/^ /, ""); sub(/ $/, ""); print }' <<<"$status")"
equal "... without a capability" "0000000000000000" \
    "$(sed -nE 's/^Cap(Inh|Prm|Eff|Amb):\t//p' <<<"$status" | sort -u)"
equal "... and may be killed where memory is short" 0 "$(on n1 root cat "/proc/$server/oom_score_adj")"
equal "... on all CPUs" "$(on n1 root sed -n 's/^Cpus_allowed://p' /proc/1/status)" \
    "$(sed -n 's/^Cpus_allowed://p' <<<"$status")"
equal "... with PATH and the names of its step alone" "PATH SLURMD_NODENAME SLURM_JOB_ID SLURM_STEP_ID" \
    "$(on n1 root cat "/proc/$server/environ" | tr '\0' '\n' | sed 's/=.*//' | sort | paste -sd' ')"
equal "it is nobody's child, and leads its session" "1 $server" \
    "$(on n1 root ps -o ppid=,sid= -p "$server" | xargs)"
equal "it has a socket, and nothing of slurmstepd's" "/dev/null /dev/null /dev/null socket" \
    "$(on n1 root bash -c "for fd in 0 1 2 3; do readlink /proc/$server/fd/\$fd; done" | sed 's/:.*//' | paste -sd' ')"
equal "... at the job's address" "@berth/2001/$job/n1" \
    "$(on n1 root sed -n 's/.* \(@berth.*\)/\1/p' /proc/net/unix | sort -u)"
equal "nobody waits for what has started it" "" "$(on n1 root ps -eo stat=,args= | grep '^Z')"
matches "it knows the extern step" '^slurmstepd: .*(extern|4294967292)' \
    "$(on n1 root ps -o args= -p "$stepd")"
over
no_server "it ends with the job"

job
step "$I" --container-lifetime=job true
need_server "another job has a process of its own"
on n1 root kill -KILL "$server"
no_server "killed, it leaves nothing"
on n1 root kill -STOP "$stepd"
since=$(date +%s%N)
equal "an extern step that does not answer: a step runs" a "$(step "$I" --container-lifetime=job cat /etc/berth-image)"
matches "... and takes little longer" '^([0-9]|[0-9]{2}|[0-7][0-9]{2})$' $((($(date +%s%N) - since) / 10000000))
equal "... without that process" "" "$(oldest)"
on n1 root kill -CONT "$stepd"
equal "when it answers again: a step runs" a "$(step "$I" --container-lifetime=job cat /etc/berth-image)"
matches "... with that process" '^[0-9]+$' "$(oldest)"
on n1 root bash -c "kill -KILL $stepd \$(pgrep -P $stepd)"
no_server "it ends with the slurmstepd of the extern step"
on n1 root rm -f "/var/spool/slurmd/n1_$job.4294967292" # Slurm's own
matches "without an extern step: a step runs" \
    "not the job's: the job has no extern step on this node that can keep the container; set PrologFlags=Contain in slurm.conf, and not CLONE_NEWPID in namespace.yaml.*"$'\n'"a" \
    "$(alice srun -v --jobid="$job" -n1 "$I" --container-lifetime=job cat /etc/berth-image 2>&1)"
matches "... and with --container-writable a note says so without -v" \
    "note: image '[^']*': one container for 1 task, not the job's: the job has no extern step on this node" \
    "$(alice srun --jobid="$job" -n1 "$I" --container-lifetime=job --container-writable true 2>&1)"
equal "... without that process" "" "$(oldest)"
over

job
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
    "$(cat "$work/squat") $(step "$I" --container-lifetime=job cat /etc/berth-image)"
equal "... without that process" "" "$(oldest)"
on n1 root pkill -u bob -x perl
wait "$squatter"
on n1 root rm -f /tmp/squat.pl
over
finish
