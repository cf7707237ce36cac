# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Bringing a cluster up and taking it down.

# world_up NAME RELEASE NODES: with UP_CGROUP, UP_RUNTIME and the arrays UP_BINDS, UP_CONF and
# UP_OVERLAYS.
world_up() {
    local name=$1 release=$2 nodes=$3 since
    STATE=$STATE_ROOT/$name
    state_lock "$name"
    if [[ -f $STATE/ready ]] && process_alive "$STATE/world"; then
        say "$name is already up; 'down' it first to change its settings"
        return 0
    fi
    world_remove
    need_packages iproute2 mount util-linux
    rootfs_ensure "$release"
    [[ ! $UP_MACHINES ]] || machine_ensure "$nodes"
    now_ms
    since=$REPLY
    CLEANUP_HOOKS+=(world_abort)
    state_write "$release" "$REPLY_TREE" "$nodes"
    if [[ $UP_MACHINES ]]; then machines_start "$nodes"; else world_start; fi
    world_await "$nodes" || world_explain
    host_argv login
    "${CLEAN_ENV[@]}" "${HOST_ARGV[@]}" sinfo -V | sed 's/.* //' >"$STATE/slurm"
    touch "$STATE/ready"
    CLEANUP_HOOKS=()
    took "$since"
    say "$name: Slurm $(<"$STATE/slurm") is up with $nodes nodes: $REPLY"
}

# state_write RELEASE TREE NODES: everything the hosts read when they start.
state_write() {
    local release=$1 tree=$2 nodes=$3 user
    mkdir -p "$STATE"/{hosts,log,home,shared} "$STATE"/etc/{slurm/plugstack.conf.d,munge} \
        "$BERTH_CACHE"/{images,wheels}
    chmod 755 "$STATE_ROOT" "$STATE"
    ln -s "$BERTH_CACHE/images" "$STATE/images"
    ln -s "$BERTH_CACHE/wheels" "$STATE/wheels"
    printf '%s\n' "${UP_OVERLAYS[@]}" "$tree" | paste -sd: >"$STATE/rootfs"
    printf '%s\n' "$UP_RUNTIME" >"$STATE/runtime"
    printf '%s\n' "$release" >"$STATE/release"
    printf '%s\n' "${UP_BINDS[@]}" >"$STATE/binds"
    for user in alice:2001 bob:2002; do
        install -d -o "${user#*:}" -g "${user#*:}" -m 755 "$STATE/home/${user%:*}"
        profile_write "$STATE/home/${user%:*}" "${user#*:}"
    done
    chmod 1777 "$STATE/shared"
    head -c 128 /dev/urandom >"$STATE/etc/munge/munge.key"
    hosts_write "$nodes" >"$STATE/etc/hosts"
    [[ -z $UP_CGROUP ]] || touch "$STATE/cgroup"
    slurmconf "$nodes" "${UP_CONF[@]}" >"$STATE/etc/slurm/slurm.conf"
    cgroupconf "$release" >"$STATE/etc/slurm/cgroup.conf"
    gresconf >"$STATE/etc/slurm/gres.conf"
    mpiconf "$release" >"$STATE/etc/slurm/mpi.conf"
}

profile_write() {
    # shellcheck disable=SC2016
    printf '%s\n' '[ -z "$PS1" ] || PS1="[$BERTH_CLUSTER] \u@\h:\w\\$ "' \
        >"$1/.bash_profile"
    chown "$2:$2" "$1/.bash_profile"
}

# The same private addresses in every cluster: each has its own network.
hosts_write() {
    local i
    printf '127.0.0.1 localhost\n10.83.0.1 login\n'
    for ((i = 1; i <= $1; i++)); do
        printf '10.83.%d.%d n%d\n' $((1 + i / 250)) $((i % 250 + 1)) "$i"
    done
}

world_start() {
    setsid "${CLEAN_ENV[@]}" unshare --mount --net --pid --ipc --uts --fork \
        --kill-child -- "$HERE/lib/world-init" "$STATE" "$HERE" \
        </dev/null >"$STATE/boot.log" 2>&1 {STATE_LOCK}>&- &
    WORLD_PARENT=$!
    disown
}

# world_await NODES: returns when sinfo shows all of them idle.
world_await() {
    local nodes=$1 i pid
    for ((i = 0; i < 100; i++)); do
        ! process_alive "$STATE/hosts/login" || break
        sleep 0.05
    done
    world_whole || return 1
    host_argv login
    # shellcheck disable=SC2016
    "${CLEAN_ENV[@]}" "${HOST_ARGV[@]}" timeout 60 bash -c '
        until (: </dev/tcp/login/6817) 2>/dev/null; do sleep 0.05; done
        until [[ $(sinfo -h -o "%D %t" 2>/dev/null) == "$0 idle" ]]; do sleep 0.1; done
        ' "$nodes" </dev/null &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        world_whole || { kill "$pid" 2>/dev/null; disown; return 1; }
        sleep 0.05
    done
    wait "$pid"
}

# world_whole: no host that has started has ended.
world_whole() {
    local it
    for it in "$STATE"/hosts/*; do
        [[ ! -s $it ]] || process_alive "$it" || return 1
    done
}

world_explain() {
    local host
    tail -n 5 "$STATE/boot.log" >&2
    for host in $(state_hosts); do
        say "$host:"
        tail -n 8 "$STATE/log/$host" >&2 || true
        process_alive "$STATE/hosts/$host" || { say "$host died"; continue; }
        tail -n 8 "/proc/$REPLY/root/var/log/slurm/"*.log 2>/dev/null >&2 || true
    done
    die "the nodes did not become idle"
}

# What an `up` that does not get through takes back.
world_abort() {
    [[ -z ${WORLD_PARENT-} ]] || kill -KILL "$WORLD_PARENT" 2>/dev/null || true
    world_remove
}

# world_kill: no process of the cluster STATE is left.  The world's first process takes
# all others along; it is gone only when they are.
world_kill() {
    local it i
    for it in "$STATE"/hosts/n*; do
        [[ ! -e $STATE/machines ]] || ! process_alive "$it" || kill -KILL "$REPLY"
    done
    process_alive "$STATE/world" || return 0
    kill -KILL "$REPLY" 2>/dev/null || true
    for ((i = 0; i < 200; i++)); do
        process_alive "$STATE/world" || break
        sleep 0.05
    done
}

# world_remove: no process, no file of the cluster STATE is left.
world_remove() {
    world_kill
    [[ ! -e $STATE/cgroup ]] || cgroup_remove "${STATE##*/}"
    rm -rf --one-file-system -- "$STATE" "$BERTH_CACHE/machines/${STATE##*/}"
    rmdir --ignore-fail-on-non-empty "$BERTH_CACHE/machines" 2>/dev/null || true
    rmdir --ignore-fail-on-non-empty "$STATE_ROOT" 2>/dev/null || true
}

# world_down NAME.  A command that waits for a host, and holds the lock, fails as soon as
# the host is gone.
world_down() {
    name_check "$1"
    STATE=$STATE_ROOT/$1
    if [[ ! -d $STATE ]]; then
        say "$1 is not up"
        return 0
    fi
    world_kill
    state_lock "$1"
    world_remove
    say "$1 is down"
}

# node_restart NODE: starts slurmd again.
node_restart() {
    if [[ -e $STATE/machines ]]; then
        machine_do "$1" 'systemctl restart slurmd'
        return
    fi
    host_argv "$1"
    "${CLEAN_ENV[@]}" "${HOST_ARGV[@]}" timeout -k 5 90 slurmd-restart {STATE_LOCK}>&- ||
        die "$1: slurmd does not answer; see: $0 logs ${STATE##*/} $1"
}
