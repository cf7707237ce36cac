#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Several images on one node in one step (srun --multi-prog): each task sees the files of its
# own image and all else as if its image were alone, and programs in different images read
# each other's memory. Where that cannot be, MPI is told so.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a b
alice mkdir -p v
for it in memory probe; do
    on login alice bash -c "cat >v/$it.c && gcc -D_GNU_SOURCE -static -o v/$it v/$it.c" \
        <"$here/$it.c" || exit 1
done
LIMIT=60
A=--container-image=/images/a.sif
B=--container-image=/images/b.sif

# The step of these lines: what it says, in order of the ranks.
# shellcheck disable=SC2120 # `try` passes them
beside() {
    on login alice sh -c 'rm -f v/at*'
    alice srun -Q -l -w n1 -n "$tasks" --kill-on-bad-exit=0 "$@" --multi-prog lines 2>&1 </dev/null
}
ranks='sort -s -n -t: -k1,1'
images="$ranks | grep -v ': note: '"
home=/home/alice
show="$home/v/memory show $home/v/at"
read="$home/v/memory read $home/v/at"

lines "0 $A $show" "1 $B $read"
try "a program reads the memory of one in another image" "1: read: memory of another image" \
    "$ranks" -- beside
lines "0 $A $show" "1 $A $read" "2 $B true"
try "and of one in its own image" "1: read: memory of another image" "$ranks" -- beside
lines "0 $A cat /etc/berth-image" "1 $B cat /etc/berth-image" "2 $A cat /etc/berth-image"
try "each sees its own image" "0: a
1: b
2: a" "$images" -- beside

# What a task sees: alone on the node with its image, and beside another one.
script v/look.sh <<'SCRIPT'
exec 2>&1
cd /
at=/home/alice/v
"$at/probe" "$at/$1"
{
    id
    env | sort
    cat /etc/passwd
    sort /etc/group
    cut -d' ' -f4- /proc/self/mountinfo
    grep -E '^(Cap|NoNewPrivs|Seccomp:|Groups|Sig)' /proc/self/status
    ls -lan /dev "$at/look.sh" /
    touch "$at/made" /tmp/made && stat -c '%n %u %g %a' "$at/made" /tmp/made
    rm -f "$at/made" /tmp/made
    readlink /proc/self/root /proc/self/cwd
    for it in ipc net pid uts cgroup; do readlink /proc/self/ns/$it; done
} >"$at/$1.seen"
SCRIPT

# What may differ: numbers of the step and of mounts; times, and counts of links and sizes.
# And what is root's in the outer user namespace: a mount has no limit of its size and no
# nosuid, which no_new_privs makes up for; files that are root's in the image are the
# user's, and otherwise nobody's where squashfuse was not told whose (its older releases);
# the map of the inner one. Each container has its own socket and directory for the commands
# of Slurm.
stripped() {
    sed -E -e "$inside" \
        -e 's/^(SLURM_[A-Z0-9_]*(STEP|PORT|PID|TIME|SLUID|JOB_?ID|STEPMGR)[A-Z0-9_]*)=.*/\1=/' \
        -e 's/^[0-9]+ [0-9]+ [0-9]+:[0-9]+ //; s/(master|shared):[0-9]+//' \
        -e 's/tmpfs rw,size=65536k,uid=/tmpfs rw,uid=/' \
        -e 's/^(\/ \/ rw),nosuid(.*),user_id=[0-9]+,group_id=[0-9]+/\1\2/; s/,user_id=0,group_id=0//' \
        -e 's/^ +2001 +(0|2001) +1$/2001 N 1/' \
        -e 's/^(.)([rwxst-]{9}\.?) +[0-9]+ +([0-9]+ +[0-9]+).* ([^ ]+( -> .*)?)$/\1\2 \3 \4/' \
        -e 's/^([dl-][rwxst-]{9}\.?) (65534|2001) +(65534|2001) /\1 N N /' \
        -e 's/(pipe|socket|anon_inode):\[[0-9]+\]/\1/g' \
        -e 's/[.](one|two)[.]/./g' \
        -e "${1:-}"
}

# alike TITLE BUT OPTION...: but for lines that the words BUT for sed take away.
# shellcheck disable=SC2119
alike() {
    local title=$1 but=$2 what words
    shift 2
    on login alice sh -c 'rm -f v/one* v/two*'
    words=$(IFS=' ' && echo "$*")
    lines "0 $A $words bash $home/v/look.sh one" "1 $A $words true"
    beside >/dev/null
    lines "0 $A $words bash $home/v/look.sh two" "1 $B $words true"
    beside >/dev/null
    for what in seen 0.env 0.state; do
        equal "$title: $what" "" "$(diff <(on login alice cat "v/one.$what" | stripped "$but") \
            <(on login alice cat "v/two.$what" | stripped "$but") 2>&1)"
    done
    matches "$title: there is something to see" \
        "uid=2001\(alice\) gid=2001\(alice\)
            groups=2001\(alice\).*alice:x:2001:2001:.*climate:x:3000:alice" \
        "$(on login alice cat v/two.seen)"
}
alike "a plain container" ""
alike "without the home" "" --no-container-mount-home "--container-mounts=$home/v"
# Root's runtime mounts neither file there; they are written instead.
alike "one that can be written" '/ \/etc\/(passwd|group) rw/d; s/^(drwx.* )(etc|usr)$/\1/' \
    --container-writable
alike "with flags" "" --container-args=--userns
alike "with the home elsewhere" "" --container-args=--home --container-args=/tmp \
    "--container-mounts=$home/v"
# What is put over the image's is not the runtime's to change.
on login alice sh -c 'echo "mine:x:2001:2001::/home/alice:/bin/sh" >v/passwd'
lines "0 $A --container-mounts=$home/v/passwd:/etc/passwd cat /etc/passwd" "1 $B true"
try "a user database that is mounted stays" "0: mine:x:2001:2001::/home/alice:/bin/sh" "$images" \
    -- beside
try "on the host, too" "mine:x:2001:2001::/home/alice:/bin/sh" -- cat v/passwd
lines "0 $A touch /no" "1 $B true"
try "an image cannot be written" "~0: [^ ]*touch: cannot touch '/no': Read-only file system" \
    "$ranks" -- beside
lines "0 $A --container-writable sh -c 'touch /yes && stat -c %u:%g /yes'" "1 $B ls /yes"
try "one that can be, by its own tasks" "~0: 2001:2001.*1: [^ ]*ls: cannot access '/yes'" "$ranks" \
    -- beside

# What MPI is told.
told='UCX_POSIX_USE_PROC_LINK UCX_TLS MPIR_CVAR_CH4_CMA_ENABLE'
told+=' OMPI_MCA_btl_vader_single_copy_mechanism OMPI_MCA_smsc'
script v/told.sh <<SCRIPT
for it in $told; do
    eval "printf '%s ' \"\\\${\$it-no}\""
done
echo
SCRIPT
off='n ^cma 0 none ^cma '
none='no no no no no '
note="berth: n1: note: image '/images/a.sif': MPI copies each message within this node twice, which
        is slower \(CMA is off\)"
what="sh $home/v/told.sh"

lines "0 $A $what" "1 $B $what"
try "nothing is said to MPI" "0: $none
1: $none" "$ranks" -- beside
lines "0 $A $what" "1 $A $what" "2 $what"
try "but beside a program on the host" "0: $off
1: $off
2: $off" "$ranks | grep -E '^[0-9]: [^b]'" -- beside
try "which is not told where no program uses MPI" "" "grep CMA" -- beside --mpi=pmi2
try "which is told with --mpi-bind" "~$note: some programs of the step have no image" "$ranks" \
    -- beside --mpi=pmi2 --mpi-bind=hybrid
lines "0 $A $home/v/libmpi.so.12 show $home/v/at" "1 $B sh -c 'sleep 3; $read'" "2 $what"
on login alice cp v/memory v/libmpi.so.12
try "or when a program loads an MPI" "~$note: some programs of the step have no image" "$ranks" \
    -- beside --mpi=pmi2
equal "... but not of an image whose programs do not" 1 "$(grep -c CMA <<<"$seen")"
lines "0 $show" "1 $A $read"
try "whose memory it cannot read" "~1: process_vm_readv: Operation not permitted" "$ranks" -- beside
lines "0 $A $show" "1 $read"
try "that can" "~1: read: memory of another image" "$ranks" -- beside
lines "0 $what" "1 $what"
try "a step without an image is told nothing" "0: $none
1: $none" "$ranks" -- beside
# apart TITLE WHY [OPTION]...: two images that cannot be in one user namespace.
apart() {
    lines "0 $A ${*:3} $what" "1 $B $what"
    try "$1: MPI is told" "0: $off
1: $off" "$ranks | grep -v 'berth: '" -- beside --mpi=pmi2 --mpi-bind=hybrid
    matches "$1: and why" "$note: $2" "$output"
    equal "$1: in one line for an image" 2 "$(grep -c 'CMA is off' <<<"$output")"
}
apart "a flag" "a container is closed, or has namespaces of its own \(--container-args,
        --container-name, --container-unshare\)|the container has a process namespace" \
        --container-args=--pid
apart "a closed container" \
    "a container is closed, or has namespaces of its own \(--container-args, --container-name,
        --container-unshare\)" \
    --container-args=--contain "--container-mounts=$home/v"
lines "0 $A --container-args=--pid $what" "1 $B $what"
try "with --mpi-bind=off nothing is said" "0: $none
1: $none" "$ranks" -- beside --mpi-bind=off
lines "0 $A --container-env=UCX_TLS=all $what" "1 $what"
try "what the user has set stays" "0: ${off/^cma/all}
1: $off" "$ranks | grep -E '^[0-9]: [^b]'" -- beside

lines "0 $A true" "1 $B true"
try "an account has the words for root" "~exec.*--no-privs.*--home.*/home/alice.*a.sif" "$ranks" \
    -- beside --container-explain=all

# A runtime of which nothing is known.
node_file n1 /usr/local/bin/other <<SCRIPT
#!/bin/sh
[ "\$1" != buildcfg ] || exec sh -c "\$(cat /tmp/buildcfg 2>/dev/null)"
exec $runtime "\$@"
SCRIPT
on n1 root chmod 755 /usr/local/bin/other
site n1 <<<$'runtime:\n  path: /usr/local/bin/other'
apart "another runtime" "the runtime is not Apptainer"
lines "0 $A $show" "1 $B $read"
try "another runtime: it cannot" "~1: process_vm_readv: Operation not permitted" "$ranks" -- beside

# Who makes the namespaces is killed; the other container does not wait for ever.
on n1 root sh -c 'echo "exec sleep 50" >/tmp/buildcfg; chmod 644 /tmp/buildcfg'
lines "0 $A true" "1 $B true"
SECONDS=0
(
    wait_for 30 on n1 root pgrep -u alice -f 'sleep 50' >/dev/null
    on n1 root bash -c 'kill -KILL $(ps -o ppid= $(pgrep -u alice -f "sleep 50"))'
) &
try "who makes the namespaces is killed" \
    "~the process that started the container was killed; submit the step again.*status [1-9]" \
    -- beside
wait
equal "and the step ends soon" yes "$( ((SECONDS < 20)) && echo yes)"
on n1 root pkill -KILL -u alice sleep
site n1 </dev/null
on n1 root rm -f /tmp/buildcfg /usr/local/bin/other

# Supervisors that are killed take the containers with them.
lines "0 $A bash -c 'sleep 4; cat /etc/berth-image'" "1 $B bash -c 'sleep 4; cat /etc/berth-image'"
(
    wait_for 30 has_processes n1 sleep 2
    on n1 root bash -c \
        'kill -KILL $(ps -eo pid,ppid,user,args |
        awk "\$3 == \"alice\" && \$2 == 1 && /berth-start/ { print \$1 }")'
) &
try "supervisors that are killed" \
    "~berth: n1: the container died while the program ran.*status [1-9]" -- beside
wait
nothing_left

# One image that does not start ends its own tasks only.
lines "0 $A sh -c 'sleep 1; cat /etc/berth-image'" "1 $B --container-mounts=/nowhere:/x true"
try "an image that does not start" "~1: berth: n1: [^$nl]*/nowhere.*status [1-9]" -- beside
matches "and one that does" "0: a" "$seen"
finish
