# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A cgroup tree for each node, in the hierarchies of version 1 that the machine has: a
# directory /berth.CLUSTER.NODE in each, which the node's own cgroup namespace shows as
# the root.

# What Slurm's plugins for cgroups want.
CGROUP_CONTROLLERS=(cpuacct cpuset freezer memory)

# cgroup_hierarchies: sets REPLY_HIERARCHIES to what mount(8) calls them; fails if one is
# missing.
cgroup_hierarchies() {
    local wanted names
    REPLY_HIERARCHIES=()
    for wanted in "${CGROUP_CONTROLLERS[@]}"; do
        while IFS=: read -r _ names _; do
            [[ ,$names, != *,$wanted,* ]] || REPLY_HIERARCHIES+=("$names")
        done </proc/self/cgroup
    done
    ((${#REPLY_HIERARCHIES[@]} == ${#CGROUP_CONTROLLERS[@]}))
}

# cgroup_mount DIR: mount them all there.
cgroup_mount() {
    local it
    cgroup_hierarchies || return
    for it in "${REPLY_HIERARCHIES[@]}"; do
        mkdir -p "$1/$it"
        mountpoint -q "$1/$it" || mount -t cgroup -o "$it" cgroup "$1/$it" || return
    done
}

# cgroup_enter DIR GROUP: the calling shell moves into GROUP, in all that are mounted.
cgroup_enter() {
    local it file
    for it in "$1"/*/; do
        mkdir "$it/$2"
        for file in "$it"/cpuset.{cpus,mems}; do
            [[ ! -e $file ]] || cat "$file" >"$it/$2/${file##*/}"
        done
        echo "$BASHPID" >"$it/$2/cgroup.procs"
    done
}

# cgroup_remove CLUSTER: the groups of all its nodes, with what Slurm has left in them.
cgroup_remove() {
    # shellcheck disable=SC2016
    unshare --mount bash -c '. "$0"
        mount -t tmpfs none /mnt && cgroup_mount /mnt &&
            find /mnt/*/"berth.$1".* -depth -type d -exec rmdir {} + 2>/dev/null' \
        "${BASH_SOURCE[0]}" "$1" || true
}
