# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Packages of this source tree for a release, built as an ordinary user in a tree that holds
# what building them takes, and nothing else.

# What a packager's machine has.
package_packages() {
    printf '%s\n' build-essential pkg-config libelf-dev libyaml-dev libslurm-dev \
        autoconf automake debhelper rpm tini iproute2 mount hostname
}

# package_command NAME [deb|rpm]...: builds them; prints the directory that holds them.
package_command() {
    local release source=${BERTH_SOURCE:-$(realpath "$HERE/../..")} key tree lock packages
    shift
    release=$(<"$STATE/release")
    mapfile -t packages < <(package_packages)
    tree_ensure packager "$release" "${packages[@]}"
    tree=$REPLY_TREE
    key=$(printf '%s\n' "$source" "$tree" | sha256sum)
    BUILD=$BERTH_CACHE/build/packages-$release-${key:0:12}
    mkdir -p "$BUILD"
    exec {lock}>"$BUILD/.lock"
    flock "$lock"
    source_copy "$source"
    chown -R 2001 "$BUILD"
    step "packages of $source: $*" boxed "$BUILD/log" "$tree" "$BUILD:/build" "$HERE:/cluster" -- \
        setpriv --reuid 2001 --regid 2001 --clear-groups env HOME=/build \
        /cluster/lib/package-build "$@"
    exec {lock}>&-
    printf '%s\n' "$BUILD/out"
}
