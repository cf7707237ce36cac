# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Packages of this source tree for a release, built as an ordinary user in a tree that holds
# what building them takes, and nothing else.

# What a packager's machine has.
package_packages() {
    printf '%s\n' build-essential pkg-config libelf-dev libyaml-dev libslurm-dev \
        autoconf automake libtool debhelper rpm tini iproute2 mount hostname
}

# package_tree RELEASE: sets REPLY_TREE to the tree.
package_tree() {
    local release=$1 hash mirror half lock
    hash=$({ declare -f package_tree package_packages; release_sources "$release" -; } | sha256sum)
    REPLY_TREE=$BERTH_CACHE/rootfs/packager-$release-${hash:0:12}
    [[ ! -d $REPLY_TREE ]] || return 0
    need_packages mmdebstrap debian-archive-keyring
    half=$REPLY_TREE.half
    mkdir -p "$BERTH_CACHE/rootfs"
    exec {lock}>"$BERTH_CACHE/rootfs/.packager-$release.lock"
    flock "$lock"
    if [[ ! -d $REPLY_TREE ]]; then
        mirror=$(release_mirror)
        CLEANUP_PATHS+=("$half")
        rm -rf --one-file-system -- "$half" "$BERTH_CACHE/rootfs/packager-$release"-*
        # shellcheck disable=SC2016 # $1 is for mmdebstrap's shell
        quietly "$BERTH_CACHE/rootfs/packager-$release.log" mmdebstrap --variant=apt \
            --include="$(package_packages | paste -sd,)" \
            --aptopt='Acquire::Check-Valid-Until "false"' \
            --aptopt='APT::Install-Recommends "false"' \
            --dpkgopt='path-exclude=/usr/share/locale/*' \
            --customize-hook='echo builder:x:2001:2001::/build:/bin/sh >>"$1/etc/passwd"' \
            "$release" "$half" "deb $mirror $release main"
        mv -T "$half" "$REPLY_TREE"
    fi
    exec {lock}>&-
}

# package_command NAME [deb|rpm]...: builds them; prints the directory that holds them.
package_command() {
    local release source=${BERTH_SOURCE:-$(realpath "$HERE/../..")} key tree lock
    shift
    release=$(<"$STATE/release")
    step "the tree of a packager (once)" package_tree "$release"
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
