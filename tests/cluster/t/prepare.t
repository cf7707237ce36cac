#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `berth profiles --prepare`: root makes the copies of the host's MPI once on each node, and
# the steps of all users mount these. A copy of an MPI that has been upgraded since, or that
# somebody else than root could have written, is no longer mounted.

# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images mpich
site=/var/lib/berth/stage
library=$(on n1 root sh -c 'readlink -f /usr/lib/*/libmpich.so.12')

forget() { on n1,n2 root rm -rf "$site" /tmp/berth-2001 /tmp/berth-2002; }
forget
at_exit forget

# step USER NODES [COMMAND...]
step() {
    on login "$1" timeout -k 10 180 srun -w "$2" --ntasks-per-node=2 --mpi=pmi2 \
        --container-image=/images/mpich.sif --mpi-bind=host "${@:3}"
}

# stage_of USER NODES: the directory on the host of the file that lies over the image's
# libmpich in each task, as the kernel tells: without /tmp, which may be a file system, and
# without the warning that awk uses no MPI.
stage_of() {
    # shellcheck disable=SC2016 # for awk in the image
    step "$1" "$2" awk '$5 ~ /libmpich[.]so[.]12/ { print ENVIRON["SLURMD_NODENAME"], $4 }' \
        /proc/self/mountinfo 2>&1 | sed -E "/no rank of this node was seen to load an MPI/d; s, /tmp/, /,; s,(/mpich-)[0-9a-f]{16}/.*,\1HASH," | sort -u
}

# own NODE UID: the user's own stages.
own() { on "$1" root bash -c "ls -d /tmp/berth-$2/*-[0-9a-f]* 2>/dev/null"; }

# steps_over NODE: the supervisor of a step ends a little after it.
no_steps() { ! on "$1" root pgrep -u alice,bob >/dev/null; }
steps_over() { wait_for 120 no_steps "$1"; }

matches "only root prepares for all" "berth: profiles --prepare: .*run it as root" \
    "$(on n1 alice berth profiles --prepare 2>&1)"
equal "... and nothing is there then" "" "$(on n1 root bash -c "ls $site 2>/dev/null")"

# with_tmp OPTIONS COMMAND...: while n1 has another /tmp.
with_tmp() {
    on n1 root mount -t tmpfs -o "$1" none /tmp || result FAIL "another /tmp"
    "${@:2}"
    steps_over n1
    on n1 root umount -l /tmp
}
matches "a /tmp that is mounted noexec is no place for a stage, and that is said" \
    "'/tmp/berth-2001': is on a file system that is mounted noexec, .*run 'berth profiles --prepare'" \
    "$(with_tmp noexec,mode=1777 step alice n1 mpiring 2>&1)"
matches "... nor is one that the user cannot write" \
    "'/tmp/berth-2001': cannot be made, .*run 'berth profiles --prepare'" \
    "$(with_tmp mode=755 step alice n1 mpiring 2>&1)"

on n1,n2 root berth profiles --prepare >/dev/null || result FAIL "prepare on both"
matches "a user is shown root's stage" "stage: $site/mpich-[0-9a-f]{16}"$'(\n|$)' \
    "$(on n1 alice berth profiles)"
equal "the first step of a user mounts it" "n1 $site/mpich-HASH"$'\n'"n2 $site/mpich-HASH" \
    "$(stage_of alice n1,n2)"
equal "... and that of another user" "n1 $site/mpich-HASH" "$(stage_of bob n1)"
equal "... and neither makes one" "" "$(own n1 2001)$(own n2 2001)$(own n1 2002)"
matches "MPI runs on it" "rank 3 of 4 on n2 in mpich: MPICH" "$(step alice n1,n2 mpiring 2>&1)"
equal "... for which it needs no /tmp" "n1 $site/mpich-HASH" "$(with_tmp mode=755 stage_of alice n1)"
equal "... and not one that allows programs" "n1 $site/mpich-HASH" \
    "$(with_tmp noexec,mode=1777 stage_of alice n1)"
equal "nobody but root can write there" "" \
    "$(on n1 root find "$site" ! -type l \( ! -user root -o -perm /022 \) 2>&1)"
matches "... also from the container" "Read-only|Permission" \
    "$(step alice n1 sh -c ': >/.berth/site/mpich-new' 2>&1)"

# An upgrade, as packages do it.
on n1 root bash -c "cp -a $library $library.new && mv $library.new $library"
equal "after an upgrade of the host's MPI root's stage is not valid" "" \
    "$(on n1 alice berth profiles | grep "stage: $site/mpich")"
equal "... and a step makes its own" "n1 /berth-2001/mpich-HASH" "$(stage_of alice n1)"
equal "... while the other node has root's" "n2 $site/mpich-HASH" "$(stage_of alice n2)"
on n1 root berth profiles --prepare >/dev/null || result FAIL "prepare again"
equal "until root has prepared again" "n1 $site/mpich-HASH" "$(stage_of bob n1)"

# Nobody can keep root waiting.
on n1 bob flock -x "$site" sleep 60 &
holder=$!
wait_for 30 on n1 root pgrep -u bob -x sleep >/dev/null
on n1 root timeout 50 berth profiles --prepare >/dev/null
equal "a lock that a user has on root's stages keeps nobody waiting" 0 $?
kill "$holder"
wait "$holder" 2>/dev/null

# Many first steps at once, on a node without a copy: one copies, the others wait for it.
on n1 root bash -c "rm -rf $site /tmp/berth-2001
    mv /usr/bin/patchelf /usr/bin/patchelf.real
    printf '#!/bin/sh\necho >>/tmp/patched\nexec /usr/bin/patchelf.real \"\$@\"\n' >/usr/bin/patchelf
    chmod 755 /usr/bin/patchelf; : >/tmp/patched; chmod 666 /tmp/patched"
patched() { on n1 root sh -c 'wc -l </tmp/patched; : >/tmp/patched'; }
matches "a first step on a node" "rank 1 of 2 on n1 in mpich: MPICH" "$(step alice n1 mpiring 2>&1)"
once=$(patched)
steps_over n1
on n1 root rm -rf /tmp/berth-2001
at_once() {
    for _ in {1..16}; do
        alice timeout -k 10 180 srun -Q -w n1 -n1 --mpi=pmi2 --mpi-bind=host \
            --container-image=/images/mpich.sif true 2>&1 || echo failed &
    done
    wait
}
equal "16 first steps at once succeed" "" "$(at_once)"
equal "... and make one copy" "$once 1" "$(patched) $(own n1 2001 | wc -l)"
on n1 root mv /usr/bin/patchelf.real /usr/bin/patchelf
on n1 root berth profiles --prepare >/dev/null || result FAIL "prepare once more"

# Somebody else could have put a library there.
on n2 root chmod 1777 "$site"
equal "stages in a directory that others can write are not mounted" \
    "n2 /berth-2001/mpich-HASH" "$(stage_of alice n2)"
on n2 root chown bob "$site"
equal "... nor those of another user" "n2 /berth-2001/mpich-HASH" "$(stage_of alice n2)"

# systemd-tmpfiles takes away what nobody has used for long, and not from a step that runs.
clean() {
    on n2 root bash -c 'sed s/30d/1s/ /usr/lib/tmpfiles.d/berth.conf >/root/clean.conf
        sleep 2 && systemd-tmpfiles --clean /root/clean.conf; rm /root/clean.conf'
}
files() { on n2 root sh -c 'find /tmp/berth-2001/*/ | wc -l'; }
alice rm -f started go
step alice n2 sh -c ': >started; while [ ! -e go ]; do sleep 0.1; done' >/dev/null 2>&1 &
running=$!
wait_for 120 alice test -e started
kept=$(files)
clean
equal "the copies of a step that runs stay" "$kept" "$(files)"
alice touch go
wait "$running" || result FAIL "the step" "$?"
steps_over n2
clean
equal "those that no step uses go" "" "$(own n2 2001)"
matches "and a later step makes its own" "rank 1 of 2 on n2 in mpich: MPICH" "$(step alice n2 mpiring 2>&1)"
alice rm -f started go

finish
