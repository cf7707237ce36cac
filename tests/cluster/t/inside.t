#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program in an image calls srun, and the image has no Slurm: new steps of the same job, with
# the image, the words, the streams, the signals and the status; however that ends, and nobody
# else.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b
LIMIT=90
A=--container-image=/images/a.sif
at_exit 'on login alice scancel -u alice'
script_pty

# in a job of two nodes: $job
allocate -N2 -w n1,n2 --overcommit

# within OPTION... TEXT: a shell in image a, in one task on n1, runs TEXT. The variables are
# what a command of salloc has.
within() {
    alice env "SLURM_JOB_ID=$job" SLURM_JOB_NUM_NODES=2 'SLURM_JOB_NODELIST=n[1-2]' srun -N1 -n1 \
        -w n1 --overlap --overcommit $A "${@:1:$#-1}" \
        /bin/sh -c "${*: -1}" 2>&1 </dev/null | grep -av "can't run 1 processes on 2 nodes"
}

# All steps of the job have ended, but for Slurm's own.
over=("" "grep '[.][0-9]'" -- on login alice squeue -h -s -j "$job" -o %i)

# For the inner shell: a step on n2 that does not end, and the wait until it runs.
stays='srun -n1 -w n2 sh -c "touch runs; exec sleep 100"'
runs='while [ ! -e runs ]; do sleep 0.1; done; rm runs'

where='sh -c "echo \$SLURMD_NODENAME \$(cat /etc/berth-image 2>&1)"'

# --- which step it is
equal "a step over two nodes, in the same image" "n1 a
n2 a" "$(within "srun -N2 -n2 $where" | sort)"
equal "another image, and none" "n2 b
n2 cat: /etc/berth-image: No such file or directory" \
    "$(within "srun -n1 -w n2 --container-image=/images/b.sif $where
        srun -n1 -w n2 --container-image=none $where")"
equal "an srun of a task on the host, as below salloc" "n2 a" \
    "$(within "srun -n1 -w n1 --container-image=none srun -n1 -w n2 $where")"
equal "an srun inside an srun inside" "n2 b" \
    "$(within "srun -n1 -w n1 --container-image=/images/b.sif srun -n1 -w n2 $where")"
equal "a program whose words look like options of srun" "--exactly --container-image=b" \
    "$(within 'srun -n1 echo --exactly --container-image=b 2>/dev/null')"
equal "mounts come along, the working directory is where it is" "/share/doc
/tmp" "$(within --container-mounts=/usr/share:/share --container-workdir=/usr \
    'cd /tmp; srun -n1 sh -c "ls -d /share/doc; pwd"')"
equal "two components" "n1 a
n2 b" "$(within "srun -n1 -w n1 $where : -n1 -w n2 --container-image=/images/b.sif $where" | sort)"
lines "0 cat /etc/berth-image" "1 --container-image=/images/b.sif cat /etc/berth-image"
equal "lines of a --multi-prog file" "a
b" "$(within 'srun -N2 -n2 --multi-prog lines' | sort)"
equal "--export=NONE, outside and inside" "n2 a
n2 a" "$(within --export=NONE "srun -n1 -w n2 $where; srun -n1 -w n2 --export=NONE $where")"
equal "variables that the program has set" "MINE 1" \
    "$(within 'MINE=1 srun -n1 sh -c "echo MINE \$MINE"')"
equal "a login shell, which sets PATH anew" "127 a" \
    "$(within 'echo $(sh -lc "srun true 2>/dev/null; echo \$?"
        sh -lc "PATH=\$PATH:\$BERTH_INSIDE_PATH; srun -n1 cat /etc/berth-image")')"
equal "not the image's" "none" \
    "$(within 'srun -n1 --container-image=none sh -c "echo \${APPTAINER_CONTAINER-none}\$BERTH_INSIDE\$BERTH_INSIDE_PATH"')"
equal "a directory that only the image has" /.singularity.d \
    "$(within 'cd /.singularity.d; srun -n1 pwd')"
equal "and no image" \
    "berth: srun: the working directory '/.singularity.d' is not on the host: No such file or
        directory; change to one that is" \
    "$(within 'cd /.singularity.d; srun -n1 --container-image=none true' |
    grep -v '^srun: error: n1')"

# --- files that its command line names
# A /dev/shm of its own, and the refusal.
shm=--container-args=--scratch=/dev/shm
apart="the container and the host do not share this path; use a directory that both have, such as
        $(alice sh -c 'echo "$HOME"')"
on n1 root sh -c 'echo 0 echo of the host >/dev/shm/f; chmod 644 /dev/shm/f'
equal "files that only the image has, and the host's is another: lines of --multi-prog" "1
berth: srun: --multi-prog: 'f': $apart" "$(within $shm \
    "cd /dev/shm; echo 0 echo zero >f; srun -n1 --multi-prog f; echo \$?" |
    grep -v '^srun: error: n1' | sort)"
equal "... input" "berth: srun: --input: 'f': $apart" \
    "$(within $shm 'cd /dev/shm; echo text >f; srun -n1 -i f cat' | grep -v '^srun: error: n1')"
equal "a pipe that both have" "text" "$(within \
    'mkfifo p; (echo text >p) & timeout 20 srun -n1 -i p cat; rm p')"
equal "standard input by name" "text" "$(within 'echo text | srun -n1 -i /dev/stdin cat')"
equal "files that both have" "x" "$(within \
    'echo x >f; srun -n1 -i f -o f.%j cat; cat f.*; rm f f.*')"
on n1 root rm /dev/shm/f

# --- streams, status, signals
equal "streams" "out: in
err: in" "$(within \
    'echo in | srun -n1 sh -c "read -r x; echo out: \$x; echo err: \$x >&2" 2>err; cat err
        rm err' | sort -r)"
equal "statuses" "0 7 137" "$(within 'srun -n1 true; a=$?; srun -n1 sh -c "exit 7" 2>/dev/null; b=$?
    srun -n1 sh -c "kill -9 \$\$" 2>/dev/null; echo $a $b $?')"
equal "a signal" "got USR1
status 5" "$(within \
    'rm -f up; srun -n1 sh -c "trap \"echo got USR1; exit 5\" USR1; echo >up; while :; do sleep 0.1; done" 2>/dev/null &
    while [ ! -e up ]; do sleep 0.1; done; kill -s USR1 $!; wait $!; echo status $?; rm up')"
# srun is three processes there: its own here, and two of the host's, one of which never stops.
equal "a stop, and a continue" "2
0
status 0" "$(within \
    'rm -f up; srun -n1 -w n2 sh -c "echo >up; while [ -e up ]; do sleep 0.1; done" 2>/dev/null &
    stopped() { cat $(grep -l "^Name:.srun$" /proc/[0-9]*/status) /dev/null | grep -c "^State:.T"; }
    while [ ! -e up ]; do sleep 0.1; done
    kill -s TSTP $!; for i in 1 2 3 4 5 6 7 8 9; do [ "$(stopped)" = 2 ] || sleep 0.2; done; stopped
    kill -s CONT $!; for i in 1 2 3 4 5 6 7 8 9; do [ "$(stopped)" = 0 ] || sleep 0.2; done; stopped
    rm up; wait $!; echo status $?')"
equal "the signal that ends srun" "status 137" \
    "$(within "$stays 2>/dev/null & $runs; "'kill -s TERM $!; wait $!; echo status $?')"
soon "nothing is left of it" "${over[@]}"
# Two at once become one, and srun wants two within a second.
equal "SIGINTs, which abort" "status 130" \
    "$(within "sh -c '($runs; while kill -s INT \$\$; do sleep 0.3; done) & exec $stays' 2>/dev/null; echo status \$?")"
equal "a terminal" "/dev/pts/0 /dev/pts/1" \
    "$(LIMIT=90 on login alice ./pty.py srun --jobid="$job" -N1 -n1 -w n1 --overlap --pty $A \
        /bin/sh -c 'tty; srun -n1 -w n1 --pty tty' 2>&1 </dev/null | tr -d '\r' | paste -sd ' ')"
equal "20 steps, 5 at once" "20 3" "$(within 'for i in 1 2 3 4; do
        for j in 1 2 3 4 5; do (srun -n1 -w n$((j % 2 + 1)) sh -c "exit 3" >/dev/null 2>&1
        echo $?) & done
        wait
    done' | sort | uniq -c | awk '{ print $1, $2 }')"

# --- ends
within "$stays & $runs; "'kill -s KILL $!' >/dev/null
soon "the program is killed" "${over[@]}"
within "($runs; "'kill -s KILL $$) & exec '"$stays" >/dev/null
soon "the task is killed" "${over[@]}"
within 'srun -n1 -w n2 sleep 100 & echo' >/dev/null
soon "the task ends before its srun" "${over[@]}"
(within "$stays" >/dev/null) &
alice sh -c "$runs"
on login alice sh -c \
    "scancel \$(squeue -h -s -j $job -o %i | grep '[.][0-9]' | sort -t. -nk2 | head -n 1)"
wait
soon "the outer step is cancelled" "${over[@]}"
(alice sh -c "$runs"; on n1 root sh -c 'for i in $(pgrep -x srun); do
        parent=$(ps -o ppid= -p "$i" | tr -d " ")
        case $(readlink "/proc/$i/exe" "/proc/$parent/exe" | paste -sd " ") in
        */srun\ /usr/libexec/berth/*) kill -s KILL "$(ps -o ppid= -p "$parent" | tr -d " ")" ;;
        esac
    done') &
equal "what answers is killed, the container is not" "a" \
    "$(within "$stays; "'srun -n1 -w n1 cat /etc/berth-image; exit 3' | grep -E "^a$|ended before")"
wait
soon "... without that step" "${over[@]}"
(within "$stays" >/dev/null) &
alice sh -c "$runs"
on n1 root sh -c 'for i in /proc/[0-9]*; do
        [ "$(readlink "$i/exe")" != /usr/libexec/berth/berth-start ] || kill -s KILL "${i#/proc/}"
    done'
wait
soon "the supervisor and all that answers are killed" "${over[@]}"

# --- who may, and what
on login alice scancel "$job"
alice sh -c 'rm -f name'
(alice srun -n1 -w n1 $A sh -c 'echo "$BERTH_INSIDE" >name; sleep 8' >/dev/null 2>&1) &
socket=$(alice sh -c 'while [ ! -s name ]; do sleep 0.1; done; cat name; rm name')
on n1 root sh -c 'cat >/tmp/other.py' <<'PYTHON'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect("\0" + sys.argv[1])
s.settimeout(5)
try:
    s.send(b"R")
    print(s.recv(4))
except OSError as e:
    print(type(e).__name__)
PYTHON
away='berth: srun: the step of this container does not answer; start the command from a task of a
        step that runs'
equal "a process of alice that knows the name alone" "$away" \
    "$(alice srun -n1 -w n1 --overlap env "BERTH_INSIDE=${socket%.*}.1a" \
        sh -c '/usr/libexec/berth/inside-srun/srun true 2>&1' 2>/dev/null)"
for user in bob root; do
    equal "$user gets no answer" "$away" \
        "$(on n1 $user env "BERTH_INSIDE=$socket" /usr/libexec/berth/inside-srun/srun true 2>&1)"
    matches "the socket of $user is closed" "^(b''|BrokenPipeError|ConnectionResetError)$" \
        "$(on n1 $user python3 /tmp/other.py "${socket%.*}" 2>&1)"
done
wait
on n1 root rm /tmp/other.py
site n1 n2 <<<'inside: none'
equal "inside: none" "unset 127" "$(alice srun -n1 -w n1 $A sh -c \
    'srun true 2>/dev/null; echo ${BERTH_INSIDE-unset} $?')"
site n1 n2 <<<'inside: all'
alice sh -c 'printf "%s\n" "#!/bin/sh" "echo batch" >batch.sh'
matches "inside: all" "^n1 Submitted batch job [0-9]+$" \
    "$(alice srun -n1 -w n1 $A sh -c \
    'echo $(squeue -h -j $SLURM_JOB_ID -o %N; sbatch -o /dev/null batch.sh)')"
site n1 n2 </dev/null
for closed in --container-args=--containall --container-args=-ec; do
    equal "$closed" "unset 127" \
        "$(alice srun -n1 -w n1 $A $closed sh -c \
        'srun true 2>/dev/null; echo ${BERTH_INSIDE-unset} $?')"
done
share no
equal "each task has a container of its own" "unset 127" \
    "$(alice srun -n1 -w n1 $A sh -c 'srun true 2>/dev/null; echo ${BERTH_INSIDE-unset} $?')"
share auto

on login alice sh -c 'rm -f lines batch.sh pty.py up err runs'
finish
