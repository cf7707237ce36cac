# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Commands in a throw-away host: what builds and checks berth without a cluster.

# What `make check`, `make distcheck` and `make coverage` take on Debian, from a checkout;
# ip, mount and tini start the box.
builder_packages() {
    printf '%s\n' autoconf automake check clang-format cppcheck fish gcc gcovr iproute2 libc6-dev \
        libelf-dev libslurm-dev libyaml-dev make mandoc mount patchelf pkg-config \
        shellcheck tini xz-utils zsh
}

# builder_command TREE [SOURCE:PLACE]... -- COMMAND...
builder_command() {
    local packages
    need_packages mount util-linux
    if [[ $1 == builder ]]; then
        mapfile -t packages < <(builder_packages)
        tree_ensure builder bookworm "${packages[@]}"
    else
        release_check "$1"
        rootfs_ensure "$1"
    fi
    shift
    "${CLEAN_ENV[@]}" unshare --mount --pid --fork --kill-child --net --ipc --uts -- \
        "$HERE/lib/box" "$REPLY_TREE" "$@"
}
