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

forget=(on "n1,n2" root rm -rf "$site" /tmp/berth-2001 /tmp/berth-2002)
"${forget[@]}"
# shellcheck disable=SC2016 # for at_exit
at_exit '"${forget[@]}"'

# The directory on the host of the file that lies over the image's libmpich in each task, as the
# kernel tells: without /tmp, which may be a file system, and without the warning that awk uses
# no MPI.
step=(srun --ntasks-per-node=2 --mpi=pmi2 --container-image=/images/mpich.sif --mpi-bind=host)
# shellcheck disable=SC2016 # for awk in the image
stage=(awk '$5 ~ /libmpich[.]so[.]12/ { print ENVIRON["SLURMD_NODENAME"], $4 }' \
    /proc/self/mountinfo)
place="sed -E '/no rank of this node was seen to load an MPI/d; s, /tmp/, /,
    s,(/mpich-)[0-9a-f]{16}/.*,\1HASH,' | sort -u"

# The user's own stages on a node.
own='ls -d /tmp/berth-2001/*-[0-9a-f]* 2>/dev/null; :'

# The supervisor of a step ends a little after it.
no_steps() { ! on "$1" root pgrep -u alice,bob >/dev/null; }

try "only root prepares for all" "~berth: profiles --prepare: .*run it as root.*status" \
    -- on n1 alice berth profiles --prepare
try "... and nothing is there then" "" -- on n1 root bash -c "ls $site 2>/dev/null; :"

# with_tmp OPTIONS COMMAND...: alice's step while n1 has another /tmp.
with_tmp() {
    local status=0
    on n1 root mount -t tmpfs -o "$1" none /tmp || result FAIL "another /tmp"
    alice "${@:2}" || status=$?
    wait_for 120 no_steps n1
    on n1 root umount -l /tmp
    return "$status"
}
try "a /tmp that is mounted noexec is no place for a stage, and that is said" \
    "~'/tmp/berth-2001': is on a file system that is mounted noexec, .*run 'berth profiles
        --prepare'.*status" -- \
    with_tmp noexec,mode=1777 "${step[@]}" -w n1 mpiring
try "... nor is one that the user cannot write" \
    "~'/tmp/berth-2001': cannot be made, .*run 'berth profiles --prepare'.*status" -- \
    with_tmp mode=755 "${step[@]}" -w n1 mpiring

on n1,n2 root berth profiles --prepare >/dev/null || result FAIL "prepare on both"
matches "a user is shown root's stage" "stage: $site/mpich-[0-9a-f]{16}"$'(\n|$)' \
    "$(on n1 alice berth profiles)"
try "the first step of a user mounts it" "n1 $site/mpich-HASH${nl}n2 $site/mpich-HASH" "$place" \
    -- "${step[@]}" -w n1,n2 "${stage[@]}"
try "... and that of another user" "n1 $site/mpich-HASH" "$place" \
    -- on login bob "${step[@]}" -w n1 "${stage[@]}"
try "... and neither makes one" "" -- on n1,n2 root bash -c "${own/2001/200[12]}"
try "MPI runs on it" "~rank 3 of 4 on n2 in mpich: MPICH" -- "${step[@]}" -w n1,n2 mpiring
try "... for which it needs no /tmp" "n1 $site/mpich-HASH" "$place" \
    -- with_tmp mode=755 "${step[@]}" -w n1 "${stage[@]}"
try "... and not one that allows programs" "n1 $site/mpich-HASH" "$place" \
    -- with_tmp noexec,mode=1777 "${step[@]}" -w n1 "${stage[@]}"
equal "nobody but root can write there" "" \
    "$(on n1 root find "$site" ! -type l \( ! -user root -o -perm /022 \) 2>&1)"
try "... also from the container" "~(Read-only|Permission).*status" \
    -- "${step[@]}" -w n1 sh -c ': >/.berth/site/mpich-new'

# An upgrade, as packages do it.
on n1 root bash -c "cp -a $library $library.new && mv $library.new $library"
equal "after an upgrade of the host's MPI root's stage is not valid" "" \
    "$(on n1 alice berth profiles | grep "stage: $site/mpich")"
try "... and a step makes its own" "n1 /berth-2001/mpich-HASH" "$place" \
    -- "${step[@]}" -w n1 "${stage[@]}"
try "... while the other node has root's" "n2 $site/mpich-HASH" "$place" \
    -- "${step[@]}" -w n2 "${stage[@]}"
on n1 root berth profiles --prepare >/dev/null || result FAIL "prepare again"
try "until root has prepared again" "n1 $site/mpich-HASH" "$place" \
    -- on login bob "${step[@]}" -w n1 "${stage[@]}"

# Nobody can keep root waiting.
on n1 bob flock -x "$site" sleep 60 &
holder=$!
wait_for 30 on n1 root pgrep -u bob -x sleep >/dev/null
on n1 root timeout 50 berth profiles --prepare >/dev/null
equal "a lock that a user has on root's stages keeps nobody waiting" 0 $?
on n1 root pkill -u bob
wait "$holder" 2>/dev/null

# Many first steps at once, on a node without a copy: one copies, the others wait for it.
on n1 root bash -c "rm -rf $site /tmp/berth-2001
    mv /usr/bin/patchelf /usr/bin/patchelf.real
    printf '#!/bin/sh\necho >>/tmp/patched\nexec /usr/bin/patchelf.real \"\$@\"\n' >/usr/bin/patchelf
    chmod 755 /usr/bin/patchelf; : >/tmp/patched; chmod 666 /tmp/patched"
patched='wc -l </tmp/patched; : >/tmp/patched'
try "a first step on a node" "~rank 1 of 2 on n1 in mpich: MPICH" -- "${step[@]}" -w n1 mpiring
once=$(on n1 root sh -c "$patched")
wait_for 120 no_steps n1
on n1 root rm -rf /tmp/berth-2001
equal "16 first steps at once succeed" "" "$(
    for _ in {1..16}; do
        alice srun -Q -w n1 -n1 --mpi=pmi2 --mpi-bind=host --container-image=/images/mpich.sif \
            true 2>&1 </dev/null || echo failed &
    done
    wait)"
try "... and make one copy" "$once${nl}1" -- on n1 root bash -c "$patched; { $own; } | wc -l"
on n1 root mv /usr/bin/patchelf.real /usr/bin/patchelf
on n1 root berth profiles --prepare >/dev/null || result FAIL "prepare once more"

# Somebody else could have put a library there.
on n2 root chmod 1777 "$site"
try "stages in a directory that others can write are not mounted" \
    "n2 /berth-2001/mpich-HASH" "$place" -- "${step[@]}" -w n2 "${stage[@]}"
on n2 root chown bob "$site"
try "... nor those of another user" "n2 /berth-2001/mpich-HASH" "$place" \
    -- "${step[@]}" -w n2 "${stage[@]}"

# systemd-tmpfiles takes away what nobody has used for long, and not from a step that runs.
clean='sed s/30d/1s/ /usr/lib/tmpfiles.d/berth.conf >/root/clean.conf
    sleep 2 && systemd-tmpfiles --clean /root/clean.conf; rm /root/clean.conf'
live 2 "${step[@]:1}" -w n2 sh -c "echo ready; $waits"
kept=$(on n2 root sh -c 'find /tmp/berth-2001/*/ | wc -l')
on n2 root bash -c "$clean"
try "the copies of a step that runs stay" "$kept" -- on n2 root sh -c \
    'find /tmp/berth-2001/*/ | wc -l'
go
wait "${pid[live]}" || result FAIL "the step" "$?"
wait_for 120 no_steps n2
on n2 root bash -c "$clean"
try "those that no step uses go" "" -- on n2 root bash -c "$own"
try "and a later step makes its own" "~rank 1 of 2 on n2 in mpich: MPICH" \
    -- "${step[@]}" -w n2 mpiring

finish
