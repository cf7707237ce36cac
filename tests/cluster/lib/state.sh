# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What a cluster that is up has left for the next command: a folder in
# STATE_ROOT.  A process is written down as "PID STARTTIME", so that a number
# which the kernel has given away again is not mistaken for ours.
#
#   rootfs    overlays and the tree     ready     there once `up` is through
#   release   its release               slurm     the version that runs
#   runtime   the hosts' container runtime; empty: what the tree has
#   world     its first process         hosts/H   the first process of host H
#   log/H     what host H said while it started
#   etc/      files for every host      home/ shared/   what all hosts share

STATE_ROOT=/run/berth

# process_alive FILE: sets REPLY to the pid written in FILE, if it still runs.
process_alive() {
    local pid start fields
    [[ -r $1 ]] && read -r pid start <"$1" || return 1
    { read -r fields <"/proc/$pid/stat"; } 2>/dev/null || return 1
    fields=${fields##*) }
    # shellcheck disable=SC2086
    set -- $fields
    [[ $1 != Z && ${20} == "$start" ]] || return 1
    REPLY=$pid
}

# process_line [PID]: sets REPLY to the line for that process; without a number, for the
# calling shell, as the machine's own /proc sees it.
process_line() {
    local fields pid
    read -r fields <"/proc/${1:-self}/stat" # bash itself reads it
    pid=${fields%% *}
    fields=${fields##*) }
    # shellcheck disable=SC2086
    set -- $fields
    REPLY="$pid ${20}"
}

name_check() {
    [[ ${1-} =~ ^[A-Za-z0-9][A-Za-z0-9_.-]*$ ]] ||
        die "expected the name of a cluster, got '${1-}'"
}

# state_open NAME: sets STATE; the cluster must be up.
state_open() {
    name_check "${1-}"
    STATE=$STATE_ROOT/$1
    if [[ ! -f $STATE/ready ]] || ! process_alive "$STATE/world"; then
        die "'$1' is not up; try: $0 up $1"
    fi
}

# host_open HOST: sets REPLY to the pid of HOST's first process.
host_open() {
    process_alive "$STATE/hosts/$1" && return
    die "no host '$1' in $(basename "$STATE"); it has: $(state_hosts | tr '\n' ' ')"
}

state_hosts() {
    (cd "$STATE/hosts" && printf '%s\n' * | sort -V)
}

state_nodes() { state_hosts | grep -vx login; }

# Names of clusters that have a folder here, up or half up.
state_names() {
    local it
    for it in "$STATE_ROOT"/*/; do
        [[ -d $it ]] && basename "$it"
    done
    return 0
}

# state_lock NAME: one `up`, `down` or `install` of NAME at a time.
state_lock() {
    mkdir -p "$BERTH_CACHE/lock"
    exec {STATE_LOCK}>"$BERTH_CACHE/lock/$1"
    flock --nonblock "$STATE_LOCK" && return
    say "waiting for another command on '$1'"
    flock "$STATE_LOCK"
}
