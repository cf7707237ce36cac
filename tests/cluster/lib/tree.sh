# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Trees that hold certain packages, what these depend on, and nothing else, so that a
# package that nobody has named is missing there as it would be on a fresh machine.

# tree_ensure NAME RELEASE PACKAGE...: sets REPLY_TREE to the tree, which is unpacked once.
tree_ensure() {
    local name=$1-$2 release=$2 hash
    shift 2
    hash=$({
        declare -f tree_build
        release_sources "$release" -
        printf '%s\n' "$@"
    } | sha256sum)
    REPLY_TREE=$BERTH_CACHE/rootfs/$name-${hash:0:12}
    unpack_once "$name" "$REPLY_TREE" "the tree $name" tree_build "$name" "$release" "$@"
}

# tree_build NAME RELEASE PACKAGE...: REPLY_TREE appears when it is complete.
tree_build() {
    local name=$1 release=$2 half=$REPLY_TREE.half mirror
    shift 2
    mirror=$(release_mirror)
    [[ -n $mirror ]] || die "apt knows no Debian mirror; see 'apt-get indextargets'"
    CLEANUP_PATHS+=("$half")
    rm -rf --one-file-system -- "$half" "$BERTH_CACHE/rootfs/$name"-*
    # shellcheck disable=SC2016 # $1 is for mmdebstrap's shell
    quietly "$BERTH_CACHE/rootfs/$name.log" mmdebstrap --variant=apt \
        --include="$(printf '%s\n' "$@" | paste -sd,)" \
        --aptopt='Acquire::Check-Valid-Until "false"' \
        --aptopt='APT::Install-Recommends "false"' \
        --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt=force-unsafe-io \
        --customize-hook='echo builder:x:2001:2001::/build:/bin/sh >>"$1/etc/passwd"' \
        "$release" "$half" "deb $mirror $release main"
    mv -T "$half" "$REPLY_TREE"
}
