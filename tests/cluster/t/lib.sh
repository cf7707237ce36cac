# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests on a real cluster: sourced by each of tests/cluster/t/*.t, which are run as
# `NAME.t CLUSTER` with berth installed there. Every case prints a TAP line; the script
# ends with `finish`. The words of a case:
#
#   try TITLE EXPECTED [FILTER] -- srun ...    what a command prints, and how it ends
#   soon TITLE EXPECTED [FILTER] -- srun ...   the same, again until it is so
#   row TITLE EXPECTED FILTER COMMAND          the same in a script of many: run_rows
#   equal, matches, says                       about a text; `says` about $seen
#   live COUNT srun's words, go                a step that runs meanwhile, and may end;
#   start, await, printed, ends                another command
#   spoil HOST COMMAND BACK, put_back          what is changed on a host, until then
#   script NAME, lines LINE...                 files of alice's
#   end_jobs, remember, left                   nothing is left
#
# The words before srun's command are arrays: step=(srun -w n1 "$image"). A test has functions of
# its own only for what these do not say, under names that no other test has.

set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tool=$here/../cluster
name=${1:?usage: ${0##*/} CLUSTER}
if [[ $name == -* ]]; then
    echo "usage: ${0##*/} CLUSTER, which is up and has berth (see tests/cluster/README.md)"
    [[ $name == -h || $name == --help ]]
    exit
fi
# What `cluster run` does, without a shell of its own for each command.
for it in say state run; do
    # shellcheck source=/dev/null
    . "$here/../lib/$it.sh"
done
if [[ $0 == *.t && ! -d $STATE_ROOT/$name ]]; then
    echo "${0##*/}: no cluster '$name' is up; $tool up RELEASE --name $name makes one" >&2
    exit 2
fi
# shellcheck disable=SC2034 # for these
HERE=${here%/t}
cases=0
failed=0
# shellcheck disable=SC2034
nl=$'\n'
# The cluster's nodes: n1 to n4, but for virtual machines.
nodes=n1,n2,n3,n4
[[ ! -e /run/berth/$name/machines ]] || nodes=n1,n2

# For sed -E: without what srun in a container needs in its environment, which is another
# for each container.
# shellcheck disable=SC2034
inside='/^BERTH_INSIDE/d; s,^(PATH=.*):/proc/[0-9]+/fd/[0-9]+$,\1,'

# on HOST[,HOST]... USER COMMAND...: run it there; the first one has standard input. Fails if
# it does on one of them.
on() {
    # shellcheck disable=SC2034 # for host_argv
    local host status=0 STATE=$STATE_ROOT/$name
    user_argv "$2" ''
    for host in ${1//,/ }; do
        (host_argv "$host" && exec "${HOST_ARGV[@]}" "${USER_ARGV[@]}" "${@:3}") || status=$?
    done
    return "$status"
}

# alice COMMAND...: as an ordinary user on the login node. A command that hangs fails.
alice() {
    on login alice timeout -k 10 "${LIMIT:-180}" "$@"
}

# The container runtime that berth finds on the hosts: its path, its name, and how the names
# of its variables begin.
runtime=$(on login root bash -c 'command -v apptainer singularity' | head -n 1)
runtime_name=${runtime##*/}
# shellcheck disable=SC2034
RUNTIME=${runtime_name^^}

# A directory of the test's, and commands for its end, which at_exit collects. What it changes on
# a host is put back then, whatever happens.
work=$(mktemp -d)
at_end=() undo=()
trap 'put_back; for it in "${at_end[@]}"; do eval "$it"; done; [[ -z $site_used ]] ||
    site </dev/null; rm -rf "$work"' EXIT
at_exit() { at_end+=("$1"); }

# spoil HOST[,HOST]... COMMAND BACK: root runs COMMAND there, and BACK when this is put_back.
spoil() {
    undo+=("$1|$3")
    on "$1" root bash -c "$2"
}
put_back() {
    local it
    for ((it = ${#undo[@]} - 1; it >= 0; it--)); do
        on "${undo[it]%%|*}" root bash -c "${undo[it]#*|}"
    done
    undo=()
}

# hide HOST PATH...: as if it had never been there.
hide() {
    local path
    for path in "${@:2}"; do
        on "$1" root test -e "$path" || continue
        spoil "$1" "mv '$path' '$path.hidden'" "mv -f '$path.hidden' '$path'"
    done
}
# hide_runtime HOST: it has no container runtime.
hide_runtime() { hide "$1" {/usr,/usr/local,/opt/apptainer}/bin/{apptainer,singularity}; }

# Are all nodes idle?
all_idle() { [[ $(on login root sinfo -h -N -o %t | sort -u) == idle ]]; }

# task_prolog: until no_task_prolog or the end, the cluster has a TaskProlog with berth's lines,
# as a site has.
task_prolog() {
    local lines
    lines=$(on n1 root bash -c \
        'ls /usr{,/local}/share/berth/taskprolog-berth.sh 2>/dev/null | head -n1')
    at_exit no_task_prolog
    on "login,$nodes" root bash -c \
        "cd /etc/slurm && printf '#!/bin/sh\n. %s\n' '$lines' >taskprolog.sh &&
        chmod 755 taskprolog.sh && cp slurm.conf slurm.conf.was &&
        echo TaskProlog=/etc/slurm/taskprolog.sh >>slurm.conf" || return
    on login root scontrol reconfigure && wait_for 10 all_idle
}
no_task_prolog() {
    on "login,$nodes" root bash -c 'cd /etc/slurm && [ -e slurm.conf.was ] &&
        mv -f slurm.conf.was slurm.conf && rm -f taskprolog.sh' &&
        on login root scontrol reconfigure
}

# script NAME: standard input becomes an executable file in alice's home.
script() {
    on login alice bash -c "cat >'$1' && chmod +x '$1'" || exit 1
}

# lines LINE...: the file `lines` in alice's home, for --multi-prog, and how many these are: $tasks.
# shellcheck disable=SC2034
lines() {
    tasks=$#
    printf '%s\n' "$@" | on login alice sh -c 'cat >lines'
}

# The script `submit OPTION...` in alice's home: sbatch that ends when its job has. (With
# --wait it asks after two seconds, and then less and less.)
script_submit() {
    script submit <<'SCRIPT'
#!/bin/bash
job=$(sbatch --parsable "$@") || exit
while [[ -n $(squeue -h -j "${job%%;*}" -o %T 2>/dev/null) ]]; do sleep 0.3; done
SCRIPT
}

# The script `pty.py COMMAND...` in alice's home: the command on a terminal of its own, where
# standard input is what is typed; it ends as the command does.
script_pty() {
    script pty.py <<'PYTHON'
#!/usr/bin/python3
import os, select, sys
pid, terminal = os.forkpty()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
copies = {terminal: 1, 0: terminal}
while terminal in copies:
    for fd in select.select(list(copies), [], [])[0]:
        try:
            data = os.read(fd, 4096)
        except OSError:
            data = b""
        if not data or os.write(copies[fd], data) != len(data):
            del copies[fd]
status = os.waitpid(pid, 0)[1]
sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
PYTHON
}

# The script `tell` in alice's home, and the directories ma and mb to mount at /mnt: what a task
# tells is LABEL=IMAGE,DIRECTORY,MOUNT,VARIABLE. LABEL is its first word; the directory is left out
# where it is the usual one.
script_tell() {
    script tell <<'EOF'
#!/bin/sh
read -r image 2>/dev/null </etc/berth-image || image=host
[ "$PWD" = /home/alice ] && dir= || dir=,$PWD
read -r mount 2>/dev/null </mnt/marker && mount=,$mount || mount=
echo "$1=$image$dir$mount${LINE:+,$LINE}"
EOF
    on login alice sh -c 'mkdir -p ma mb; echo ma >ma/marker; echo mb >mb/marker'
}

# need_images NAME...: build them if they are not there.
need_images() {
    local image
    for image in "$@"; do
        "$tool" image "$name" "$image" >/dev/null || exit 1
    done
}

# Has this Slurm the process manager that Open MPI speaks?
has_pmix() { alice srun --mpi=list 2>&1 | grep -q pmix; }

# node_file NODE PATH: put standard input there, as root.
node_file() {
    on "$1" root bash -c "cat >'$2'"
}

# The device and a library of NVIDIA's driver on n1, as far as a runtime looks.
gpu_library=/usr/lib/x86_64-linux-gnu/libcuda.so.1
gpu_add() {
    spoil n1 "mknod -m 666 /dev/nvidiactl c 1 3
        cp /usr/lib/x86_64-linux-gnu/libz.so.1 $gpu_library &&
        patchelf --set-soname libcuda.so.1 $gpu_library && ldconfig" \
        "rm -f /dev/nvidiactl $gpu_library; ldconfig"
}

result() {
    local verdict=$1 title=$2 detail=${3:-}
    cases=$((cases + 1))
    case $verdict in
    ok) echo "ok $cases - $title" ;;
    skip) echo "ok $cases - $title # SKIP $detail" ;;
    *)
        failed=$((failed + 1))
        echo "not ok $cases - $title"
        printf '#   %s\n' "${detail//$'\n'/$'\n#   '}"
        ;;
    esac
}

# The cluster's release. A script that brings the cluster up itself has said which.
: "${release:=$(cat "/run/berth/$name/release")}"
[[ $release ]] || exit 1

# Where each case runs. On other releases one of those that differ in nothing that is Slurm's
# stands for all, but in tests/every.
thorough() { [[ $release == trixie || ${BERTH_EVERY-} ]]; }

# What berth says of a pull or a save if it took two seconds, as on a loaded machine.
took="^(srun: |sbatch: |salloc: )?berth: (pulled|saved) '.*' [(][0-9]+ MB[)] in [0-9]+ s\$"

# What srun says, of its own, when a job or a step has to wait, or a task's end ends it
# (--kill-on-bad-exit, which --mpi-bind brings); and that.
waited=$took
waited+='|^srun: job [0-9]+ (queued and waiting for|has been allocated) resources$'
waited+='|^srun: (Job ([0-9]+ )?step creation (temporarily disabled|still disabled)'
waited+='|Step created for)'
waited+='|^srun: (launch/slurm: [a-z_]+: )?(Force )?Terminat(ing|ed) (Step|Job)'

# without_waiting TEXT: TEXT without that.
without_waiting() {
    if [[ $1 == *srun:* || $1 == *berth:* ]]; then grep -avE "$waited" <<<"$1"; else echo "$1"; fi
}

# unfold TEXT: sets unfolded, where a line that begins with eight blanks continues the one before,
# as messages are longer than the lines here.
shopt -s extglob
unfold() { unfolded=${1//$'\n        '*( )/ }; }

# equal TITLE EXPECTED SEEN
equal() {
    unfold "$2"
    if [[ $unfolded == "$3" || $unfolded == "$(without_waiting "$3")" ]]; then
        result ok "$1"
    else
        result FAIL "$1" "expected: ${unfolded@Q}"$'\n'"seen:     ${3@Q}"
    fi
}

# matches TITLE PATTERN SEEN: an extended regular expression somewhere in SEEN.
matches() {
    unfold "$2"
    if [[ $3 =~ $unfolded || $(without_waiting "$3") =~ $unfolded ]]; then
        result ok "$1"
    else
        result FAIL "$1" "expected: ${unfolded@Q}"$'\n'"seen:     ${3@Q}"
    fi
}

# says TITLE PATTERN [OTHER]: a line of $seen matches, and none matches OTHER.
says() {
    unfold "$2"
    if grep -qaE -- "$unfolded" <<<"$seen" && ! { [[ ${3-} ]] && grep -qaE -- "$3" <<<"$seen"; }; \
        then
        result ok "$1"
    else
        result FAIL "$1" "no line ${unfolded@Q}${3:+, or one ${3@Q}} in:$nl$(tail -n 40 <<<"$seen" |
            cut -c1-300)"
    fi
}

# try TITLE EXPECTED [FILTER] -- COMMAND...: alice runs COMMAND on the login host, or it is a
# function (as `on n1 root ...`); its two outputs are EXPECTED, with a last line `status N` if N is
# not 0. `~PATTERN`: an extended regular expression somewhere in them; the status is 0 if it does
# not name one. FILTER is a pipeline, as 'sort | uniq -c': what it makes of them is EXPECTED.
# $output is what it printed, $seen what was compared.
tried() {
    local expected filter='' status=0 run=()
    unfold "$2"
    expected=$unfolded
    shift 2
    [[ $1 == -- ]] || { filter=$1 && shift; }
    shift
    declare -F "$1" >/dev/null || run=(alice)
    output=$("${run[@]}" "$@" 2>&1 </dev/null) || status=$?
    output=$(grep -avE \
        "$waited|^srun: error: n[0-9]+: tasks? [0-9,-]+: (Exited|Killed|Terminated)" <<<"$output")
    ((status == 0)) || output+=${output:+$nl}"status $status"
    seen=$output
    [[ -z $filter ]] || seen=$(printf %s "${output:+$output$nl}" | eval "$filter")
    case $expected in
    \~*) [[ $seen =~ ${expected#\~} ]] && { [[ $filter || $expected == *status* ||
        ! $output =~ (^|$nl)status\ [1-9] ]]; } ;;
    *) [[ $seen == "$expected" ]] ;;
    esac
}
try() {
    if ${soon:+wait_for "$soon"} tried "$@"; then
        result ok "$1"
    else
        result FAIL "$1" \
            "expected: ${unfolded@Q}"$'\n'"seen:     ${seen@Q}$([[ $seen == "$output" ]] ||
            printf '\n%s' "${output:0:3000}")"
        return 1
    fi
}

# soon TITLE EXPECTED [FILTER] -- COMMAND...: a try that is repeated for some seconds until it
# succeeds.
soon() { soon=${PATIENCE:-30} try "$@"; }

# row TITLE EXPECTED FILTER COMMAND: a try of the next run_rows; COMMAND is for a shell.
rows=()
row() { rows+=("$@"); }

# run_rows WORD...: alice runs WORD... SCRIPT, where SCRIPT has $header and the rows.
header=
run_rows() {
    local i
    {
        printf '%s\n' '#!/bin/bash' "$header"
        for ((i = 0; i < ${#rows[@]}; i += 4)); do
            printf '{ %s\n} >row.%s 2>&1 </dev/null || echo "status $?" >>row.%s\n' \
                "${rows[i + 3]}" $i $i
        done
    } | on login alice bash -c 'rm -f row.*; cat >rows; chmod +x rows' || exit 1
    LIMIT=$((120 + 8 * ${#rows[@]})) alice "$@" ./rows || on login alice scancel -u alice
    for ((i = 0; i < ${#rows[@]}; i += 4)); do
        try "${rows[i]}" "${rows[i + 1]}" "${rows[i + 2]}" -- on login alice cat row.$i ||
            echo "#   ${rows[i + 3]}"
    done
    rows=()
}

# wait_for SECONDS COMMAND...: until COMMAND succeeds, ten times a second; fails after SECONDS.
wait_for() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS <= end)) || return 1
        sleep 0.1
    done
}

# start KEY USER COMMAND...: in the background; it prints to $work/KEY, and its number is
# ${pid[KEY]}.
declare -A pid
start() {
    : >"$work/$1" # now, lest `await` reads what the last one printed
    on login "$2" timeout -k 5 "${LIMIT:-180}" "${@:3}" >"$work/$1" 2>&1 </dev/null &
    pid[$1]=$!
}

# await KEY COUNT LINE: until it has printed COUNT lines that match; fails aloud.
has_printed() { (($(grep -acxE "$3" "$work/$1") >= $2)); }
await() { wait_for "${PATIENCE:-30}" has_printed "$@" ||
    result FAIL "$1 prints '$3'" "$(tail -n 20 "$work/$1")"; }

# printed TITLE KEY COUNT LINE: so many lines match.
printed() {
    unfold "$4"
    equal "$1" "$3" "$(grep -acxE "$unfolded" "$work/$2")"
}

# ends TITLE KEY STATUS: it ends with a status that matches.
ends() {
    local status=0
    wait "${pid[$2]}" || status=$?
    matches "$1" "^($3)\$" "$status"
}

# live COUNT SRUN-WORD...: a step of alice's, ready when this returns: COUNT lines say so. With
# $waits its tasks wait for `go`.
# shellcheck disable=SC2034,SC2088 # for the tasks
waits='until [ -e ~/go ]; do sleep 0.1; done'
go() { on login alice touch go; }
live() {
    on login alice rm -f go
    start live alice srun "${@:2}"
    await live "$1" ready
}

# container_option_without_plugin: until the end Slurm's own --container is berth's on all hosts,
# by the oci.conf that is installed, and the plugin is not loaded; sets stack, its file.
container_option_without_plugin() {
    local shipped
    stack=/etc/slurm/plugstack.conf.d/berth.conf
    shipped=$(on n1 root bash -c \
        'ls /usr/share/berth/oci.conf /usr/local/share/berth/oci.conf 2>/dev/null | head -n1')
    spoil "login,$nodes" "cp $stack /tmp/berth.conf; : >$stack; cp $shipped /etc/slurm/oci.conf" \
        "mv /tmp/berth.conf $stack; rm -f /etc/slurm/oci.conf"
}
# container_option_with_plugin: after that, both.
container_option_with_plugin() { on "login,$nodes" root cp /tmp/berth.conf "$stack"; }

# put_debian HOST[,HOST]... PACKAGE...: the files of Debian's packages that are in /usr, until the
# end of the test. The hosts have what these depend on, and none of these. Once in a test.
put_debian() {
    local it host
    for it in release apt; do
        # shellcheck source=/dev/null
        . "$here/../lib/$it.sh"
    done
    mkdir "$work/debian"
    apt_download "$work/debian" "$release" "$(release_mirror)" "${@:2}" >"$work/debian.log" 2>&1 ||
        { cat "$work/debian.log"; exit 1; }
    for it in "$work"/debian/*.deb; do
        dpkg --fsys-tarfile "$it" | tar -x -C "$work/debian" ./usr || exit 1
    done
    (cd "$work/debian" && find usr ! -type d) >"$work/debian.files"
    for host in ${1//,/ }; do
        tar -C "$work/debian" -c -T "$work/debian.files" | on "$host" root tar -x -C / || exit 1
        on "$host" root ldconfig
    done
    at_exit "remove_debian $1"
}
remove_debian() {
    local host
    for host in ${1//,/ }; do
        sed 's,^,/,' "$work/debian.files" | on "$host" root xargs -d '\n' rm -f
    done
}

# spooled: what tasks with Slurm's own --container have left in SlurmdSpoolDir of the nodes.
spooled() { on "$nodes" root bash -c 'cd /var/spool/slurmd && ls -d oci-job* 2>/dev/null || :'; }

# allocate_tasks NODES TASKS: a job of that many tasks on each node, in the place of the last one;
# sets job.
allocate_tasks() {
    end_jobs
    allocate -w "$1" --ntasks-per-node="$2" --overcommit
}

# allocate OPTION...: a job without a shell; sets job.
allocate() {
    job=$(on login alice salloc --no-shell "$@" 2>&1 | sed -n 's/.*Granted job allocation //p')
    [[ $job ]] || result FAIL "there is a job" ""
}

# For wait_for: alice has COUNT processes NAME on NODE, alice has no job.
has_processes() { (($(on "$1" root pgrep -u alice -x -c "$2") == $3)); }
has_no_job() { [[ -z $(on login alice squeue -h -u alice -o %i) ]]; }

# requeue JOB: it ends, and begins again in a few seconds, for Slurm would let it wait two minutes.
# Not at once: slurmd does not start what it has killed in the same second ("already killed, do
# not launch batch job"), and then the job has failed.
requeue() {
    alice scontrol requeue "$1"
    wait_for 60 is_pending "$1" || result FAIL "the requeued job ends" "$(on login alice squeue)"
    on login root scontrol update "JobId=$1" StartTime=now+3
}
is_pending() { [[ $(on login alice squeue -h -j "$1" -o %T) == PENDING ]]; }

# end_jobs: all of alice's, and wait until they and what runs in the background have ended.
end_jobs() {
    on login alice scancel -u alice
    wait
    wait_for 60 has_no_job || result FAIL "the jobs end" "$(on login alice squeue)"
}

# site [HOST...]: standard input becomes berth.yaml there; default: on all hosts. A section
# runtime is written with each key on a line of its own. No text takes the file away, and the
# end of the test does so. What share() has said stays so.
site_share=auto
site_used=
site() {
    local host text
    text=$(cat)
    site_used=yes
    if [[ $site_share == no ]]; then
        if [[ $'\n'$text == *$'\nruntime:'* ]]; then
            text=${text/runtime:/runtime:$'\n'  share: no}
        else
            text+=$'\nruntime:\n  share: no'
        fi
    fi
    # shellcheck disable=SC2086
    (($#)) || set -- login ${nodes//,/ }
    for host; do
        if [[ -n $text ]]; then
            on "$host" root bash -c 'cat >/etc/slurm/berth.yaml' <<<"$text"
        else
            on "$host" root rm -f /etc/slurm/berth.yaml
        fi
    done
}

# built KEY: what the runtime was built with.
built() { on n1 root "$runtime" buildcfg | sed -n "s/^$1=//p"; }

# May the runtime be setuid here? A SingularityCE that was built without it never is.
can_setuid() { [[ $(built SINGULARITY_SUID_INSTALL) != 0 ]]; }

# share auto|no|setuid: a container for the tasks of a node; for each task, because the
# site says so, or because the runtime is setuid. It uses the starter with that name if it is
# there; Debian's package of Apptainer leaves it out, but it is the same program.
share() {
    local starter
    starter=$(built LIBEXECDIR)/$runtime_name/bin/starter
    site_share=${1/setuid/auto}
    site </dev/null
    on "$nodes" root bash -c \
        "if [ $1 = setuid ]; then install -m 4755 $starter $starter-suid; else rm -f $starter-suid
            fi"
}

# No test may cost the site a node.
no_node_drained() {
    equal "no node is drained" "" "$(on login root sinfo -h -R || echo 'sinfo fails')"
}

# What is left on the nodes when all jobs are over: nothing of the users.
is_clean() {
    local host
    left=''
    for host in ${nodes//,/ }; do
        # shellcheck disable=SC2016
        left+=$(on "$host" root bash -c \
            'pgrep -u alice,bob -a
                awk "\$3 ~ /^fuse/ && \$3 != \"fusectl\" || \$2 ~ /apptainer|singularity/" \
                    /proc/mounts' |
            sed "s/^/$host: /") ||
            left+="$host cannot be looked at"
    done
    [[ -z $left ]]
}
nothing_left() {
    local left
    wait_for 30 is_clean
    equal "no process and no mount is left on the nodes" "" "$left"
}

# remember NODE...: what lies in the places where a step could leave something, which processes
# users have, and what slurmd holds open, when no step runs.
no_step_of() { ! on "$1" root pgrep -f '^slurmstepd: ' >/dev/null; }
remember() {
    local node
    script leftovers <<'SCRIPT'
#!/bin/bash
find /tmp /run /dev/shm /var/tmp /var/spool/slurmd -mindepth 1 \
    ! -path '/run/systemd/*' ! -path '/run/udev/*' \
    ! -name '*.pid' ! -name 'cred_state*' ! -name '*.sock*' ! -name conf-cache \
    ! -name '*.4294967292' 2>/dev/null | sort
ps -eo user=,pid=,comm=,args= | grep -E '^(alice|bob) '
awk '$3 ~ /fuse/ && $3 != "fusectl" || $2 ~ /apptainer|singularity/' /proc/mounts
find /sys/fs/cgroup -name 'job_*' 2>/dev/null | sort
# A connection of slurmd's own over TCP may stay open for long.
slurmd=$(pgrep -ox 'slurmd(-wlm)?') || echo "no slurmd: $RANDOM"
fds=/proc/$slurmd/fd
echo "descriptors of slurmd: $(find "$fds" -type l -printf '%l\n' |
    grep -cvFf <(awk '{ print "socket:[" $10 "]" }' /proc/net/tcp /proc/net/tcp6 2>/dev/null))"
SCRIPT
    for node; do
        wait_for "${PATIENCE:-10}" no_step_of "$node"
        on "$node" root /home/alice/leftovers >"$work/before.$node"
    done
}

# left NODE...: what is there and was not; given some seconds to go.
is_as_before() {
    local node
    more=''
    for node; do
        more+=$(on "$node" root /home/alice/leftovers | diff "$work/before.$node" - |
            sed -n "s/^>/$node:/p")
    done
    [[ -z $more ]]
}
left() {
    local more
    wait_for "${PATIENCE:-10}" is_as_before "$@" || echo "$more"
}

# many_steps N [OPTION...]: N steps of alice's beside N of bob's, four of each at a time, in the
# containers of a job of each; they end in several ways and leave nothing.
many_steps() {
    local user killed=$((($1 + 8) / 10)) ended=$((($1 + 9) / 10)) other=$((($1 + 6) / 10))
    script steps <<'SCRIPT'
#!/bin/bash
step() {
    local image=a command='cat /etc/berth-image' seen
    case $(($1 % 10)) in
    0) command='exit 7' ;;
    1) command='kill -KILL $$' ;;
    2) command='sleep 0.2 >/dev/null 2>&1 & cat /etc/berth-image' ;;
    3) image=b ;;
    esac
    local status=0 said
    said=$(mktemp)
    seen=$(srun -Q -n1 --overlap --container-lifetime=job \
        --container-image=/images/$image.sif sh -c "$command" 2>"$said") || status=$?
    echo "$seen status $status"
    # What is not expected says why.
    [[ " 0 7 137 " == *" $status "* ]] || cat "$said"
    rm -f "$said"
}
for ((i = 0; i < $1; i++)); do
    (($(jobs -rp | wc -l) < 4)) || wait -n
    step "$i" &
done
wait
SCRIPT
    remember n1
    for user in alice bob; do start "$user" "$user" salloc -Q -w n1 -n1 "${@:2}" /home/alice/steps \
        "$1"; done
    for user in alice bob; do
        wait "${pid[$user]}"
        equal "$1 steps of $user in containers of the job" \
            " status 137: $killed, status 7: $ended,a status 0: $(($1 - killed - ended - other)),b
                status 0: $other" \
            "$(sort "$work/$user" | uniq -c | sed -E 's/^ +([0-9]+) (.*)/\2: \1/' | paste -sd,)"
    done
    equal "... leave no process, mount, file, cgroup, or descriptor of slurmd" "" "$(left n1)"
}

finish() {
    no_node_drained
    nothing_left
    echo "1..$cases"
    ((failed == 0))
}

# openblas_install NODE,...: Debian's OpenBLAS there, as its packages and their alternatives
# have it (images/openblas). openblas_remove NODE,... takes it away.
openblas_install() {
    local lib=/usr/lib/x86_64-linux-gnu
    on "$1" root bash -c "cp -a /images/openblas.share $lib/openblas-pthread &&
        ln -sf openblas-pthread/{libblas.so.3,liblapack.so.3,libopenblas.so.0} $lib && ldconfig" ||
        exit 1
}
openblas_remove() {
    local lib=/usr/lib/x86_64-linux-gnu
    on "$1" root bash -c \
        "rm -rf $lib/openblas-pthread $lib/lib{blas,lapack}.so.3 $lib/libopenblas.so.0 \
        /opt/vendor /etc/slurm/profiles.d; ldconfig"
}

# hpl_input N: the directory hpl in alice's home, where hpcc solves N equations on two ranks.
hpl_input() {
    printf '%s\n' HPL berth HPL.out 8 1 "$1" 1 80 0 1 1 2 16.0 1 2 1 4 1 2 1 1 1 1 1 0 2 64 0 0 1 \
        8 |
        on login alice sh -c 'mkdir -p hpl && cat >hpl/hpccinf.txt'
}
