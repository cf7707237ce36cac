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
    on login alice bash -c "cat >v/$it.c && gcc -D_GNU_SOURCE -static -o v/$it v/$it.c" <"$here/$it.c" || exit 1
done
LIMIT=60
A=--container-image=/images/a.sif
B=--container-image=/images/b.sif

# lines LINE...: the lines of a --multi-prog file, a rank for each.
lines() {
    local i=0 line
    for line; do echo "$((i++)) $line"; done | on login alice sh -c 'cat >programs; rm -f v/at*'
    tasks=$#
}

# run OPTION...: the step of these lines, what it says in order of the ranks, and its status.
run() {
    local seen status
    seen=$(alice srun -Q -l -w n1 -n "$tasks" --kill-on-bad-exit=0 "$@" --multi-prog programs 2>&1 </dev/null)
    status=$?
    sort -s -n -t: -k1,1 <<<"$seen"
    echo "status $status"
}
home=/home/alice
show="$home/v/memory show $home/v/at"
read="$home/v/memory read $home/v/at"

lines "$A $show" "$B $read"
equal "a program reads the memory of one in another image" "1: read: memory of another image
status 0" "$(run)"
lines "$A $read" "$B $show"
equal "and the other way round" "0: read: memory of another image
status 0" "$(run)"
lines "$A $show" "$A $read" "$B true"
equal "and of one in its own image" "1: read: memory of another image
status 0" "$(run)"
lines "$A cat /etc/berth-image" "$B cat /etc/berth-image" "$A cat /etc/berth-image"
equal "each sees its own image" "0: a
1: b
2: a
status 0" "$(run | grep -v ': note: ')"

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
same() {
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
alike() {
    local title=$1 but=$2 what words
    shift 2
    on login alice sh -c 'rm -f v/one* v/two*'
    words=$(IFS=' ' && echo "$*")
    lines "$A $words bash $home/v/look.sh one" "$A $words true"
    run >/dev/null
    lines "$A $words bash $home/v/look.sh two" "$B $words true"
    run >/dev/null
    for what in seen 0.env 0.state; do
        equal "$title: $what" "" "$(diff <(on login alice cat "v/one.$what" | same "$but") \
            <(on login alice cat "v/two.$what" | same "$but") 2>&1)"
    done
    matches "$title: there is something to see" "uid=2001\(alice\) gid=2001\(alice\) groups=2001\(alice\).*alice:x:2001:2001:.*climate:x:3000:alice" \
        "$(on login alice cat v/two.seen)"
}
alike "a plain container" ""
alike "without the home" "" --no-container-mount-home "--container-mounts=$home/v"
# Root's runtime mounts neither file there; they are written instead.
alike "one that can be written" '/ \/etc\/(passwd|group) rw/d; s/^(drwx.* )(etc|usr)$/\1/' --container-writable
alike "with flags" "" --container-args=--userns
alike "with the home elsewhere" "" --container-args=--home --container-args=/tmp "--container-mounts=$home/v"
# What is put over the image's is not the runtime's to change.
on login alice sh -c 'echo "mine:x:2001:2001::/home/alice:/bin/sh" >v/passwd'
lines "$A --container-mounts=$home/v/passwd:/etc/passwd cat /etc/passwd" "$B true"
equal "a user database that is mounted stays" "0: mine:x:2001:2001::/home/alice:/bin/sh
status 0" "$(run | grep -v ': note: ')"
equal "on the host, too" "mine:x:2001:2001::/home/alice:/bin/sh" "$(on login alice cat v/passwd)"
lines "$A touch /no" "$B true"
matches "an image cannot be written" "0: [^ ]*touch: cannot touch '/no': Read-only file system" "$(run)"
lines "$A --container-writable sh -c 'touch /yes && stat -c %u:%g /yes'" "$B ls /yes"
matches "one that can be, by its own tasks" "0: 2001:2001.*1: [^ ]*ls: cannot access '/yes'" "$(run)"

# What MPI is told.
told='UCX_POSIX_USE_PROC_LINK UCX_TLS MPIR_CVAR_CH4_CMA_ENABLE OMPI_MCA_btl_vader_single_copy_mechanism OMPI_MCA_smsc'
script v/told.sh <<SCRIPT
for it in $told; do
    eval "printf '%s ' \"\\\${\$it-no}\""
done
echo
SCRIPT
off='n ^cma 0 none ^cma '
none='no no no no no '
note="berth: n1: note: image '/images/a.sif': MPI copies each message within this node twice, which is slower \(CMA is off\)"
what="sh $home/v/told.sh"

lines "$A $what" "$B $what"
equal "nothing is said to MPI" "0: $none
1: $none
status 0" "$(run)"
lines "$A $what" "$A $what" "$what"
seen=$(run)
equal "but beside a program on the host" "0: $off
1: $off
2: $off" "$(grep -E '^[0-9]: [^b]' <<<"$seen")"
equal "which is not told where no program uses MPI" "" "$(run --mpi=pmi2 | grep CMA)"
matches "which is told with --mpi-bind" "$note: some programs of the step have no image" \
    "$(run --mpi=pmi2 --mpi-bind=hybrid)"
lines "$A $home/v/libmpi.so.12 show $home/v/at" "$B sh -c 'sleep 3; $read'" "$what"
on login alice cp v/memory v/libmpi.so.12
seen=$(run --mpi=pmi2)
matches "or when a program loads an MPI" "$note: some programs of the step have no image" "$seen"
equal "... but not of an image whose programs do not" 1 "$(grep -c CMA <<<"$seen")"
lines "$show" "$A $read"
matches "whose memory it cannot read" "1: process_vm_readv: Operation not permitted" "$(run)"
lines "$A $show" "$read"
matches "that can" "1: read: memory of another image" "$(run)"
lines "$what" "$what"
equal "a step without an image is told nothing" "0: $none
1: $none
status 0" "$(run)"
# apart TITLE WHY [OPTION]...: two images that cannot be in one user namespace.
apart() {
    local seen
    lines "$A ${*:3} $what" "$B $what"
    seen=$(run --mpi=pmi2 --mpi-bind=hybrid)
    equal "$1: MPI is told" "0: $off
1: $off
status 0" "$(grep -v 'berth: ' <<<"$seen")"
    matches "$1: and why" "$note: $2" "$seen"
    equal "$1: in one line for an image" 2 "$(grep -c 'CMA is off' <<<"$seen")"
}
apart "a flag" "a runtime makes namespaces of its own \(--container-args\)|the container has a process namespace" --container-args=--pid
lines "$A --container-args=--pid $what" "$B $what"
equal "with --mpi-bind=off nothing is said" "0: $none
1: $none
status 0" "$(run --mpi-bind=off)"
lines "$A --container-env=UCX_TLS=all $what" "$what"
equal "what the user has set stays" "0: ${off/^cma/all}
1: $off" "$(run | grep -E '^[0-9]: [^b]')"

lines "$A true" "$B true"
matches "an account has the words for root" "exec.*--no-privs.*--home.*/home/alice.*a.sif" \
    "$(run --container-explain=all)"

# A runtime of which nothing is known.
node_file n1 /usr/local/bin/other <<SCRIPT
#!/bin/sh
[ "\$1" != buildcfg ] || exec sh -c "\$(cat /tmp/buildcfg 2>/dev/null)"
exec $runtime "\$@"
SCRIPT
on n1 root chmod 755 /usr/local/bin/other
site n1 <<<$'runtime:\n  path: /usr/local/bin/other'
apart "another runtime" "the runtime is not Apptainer"
lines "$A $show" "$B $read"
matches "another runtime: it cannot" "1: process_vm_readv: Operation not permitted" "$(run)"

# Who makes the namespaces is killed; the other container does not wait for ever.
on n1 root sh -c 'echo "exec sleep 50" >/tmp/buildcfg; chmod 644 /tmp/buildcfg'
lines "$A true" "$B true"
SECONDS=0
(
    wait_for 30 on n1 root pgrep -u alice -f 'sleep 50' >/dev/null
    on n1 root bash -c 'kill -KILL $(ps -o ppid= $(pgrep -u alice -f "sleep 50"))'
) &
seen=$(run)
wait
matches "who makes the namespaces is killed" "the process that started the container was killed; submit the step again.*status [1-9]" "$seen"
equal "and the step ends soon" yes "$( ((SECONDS < 20)) && echo yes)"
on n1 root pkill -KILL -u alice sleep
site n1 </dev/null
on n1 root rm -f /tmp/buildcfg /usr/local/bin/other

# Supervisors that are killed take the containers with them.
lines "$A bash -c 'sleep 4; cat /etc/berth-image'" "$B bash -c 'sleep 4; cat /etc/berth-image'"
(
    wait_for 30 has_processes n1 sleep 2
    on n1 root bash -c 'kill -KILL $(ps -eo pid,ppid,user,args | awk "\$3 == \"alice\" && \$2 == 1 && /berth-start/ { print \$1 }")'
) &
seen=$(run)
wait
matches "supervisors that are killed" "berth: n1: the container died while the program ran.*status [1-9]" "$seen"
nothing_left

# One image that does not start ends its own tasks only.
lines "$A sh -c 'sleep 1; cat /etc/berth-image'" "$B --container-mounts=/nowhere:/x true"
seen=$(run)
matches "an image that does not start" "1: berth: n1: [^"$'\n'"]*/nowhere.*status [1-9]" "$seen"
matches "and one that does" "0: a" "$seen"
finish
