# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Building this source tree against a release's Slurm, and putting the result
# onto every host of a cluster that is up.
#
# The work tree stays clean: it is copied to BUILD/src with its times, so that
# make sees what changed and nothing else.  BUILD is in the cache, one per
# release, tree and set of configure arguments.

# install_command NAME [CONFIGURE-ARG...]
install_command() {
    local release source key
    state_lock "$1"
    shift
    release=$(<"$STATE/release")
    source=${BERTH_SOURCE:-$(realpath "$HERE/../..")}
    [[ -f $source/configure.ac ]] || die "install: no configure.ac in $source"
    key=$(printf '%s\n' "$source" "$(<"$STATE/rootfs")" "$@" | sha256sum)
    BUILD=$BERTH_CACHE/build/$release-${key:0:12}
    mkdir -p "$BUILD"
    build_locked "$source" "$@"
    plugstack_write "$BUILD/stage"
    if [[ -e $STATE/machines ]]; then machines_install "$BUILD/stage"; else deploy_all; fi
}

# build_locked SOURCE [CONFIGURE-ARG...]
build_locked() {
    local source=$1 now lock
    shift
    exec {lock}>"$BUILD/.lock"
    flock "$lock"
    source_copy "$source"
    now=$(sha256sum <"$BUILD/sources")
    if [[ ! -d $BUILD/stage || ! -f $BUILD/built || $(<"$BUILD/built") != "$now" ]]; then
        rm -f "$BUILD/built"
        printf '%s\n' "$@" >"$BUILD/arguments"
        step "building $source for $(basename "$BUILD")" boxed "$BUILD/log" \
            "$(<"$STATE/rootfs")" "$BUILD:/build" "$HERE:/cluster" -- \
            /cluster/lib/source-build
        printf '%s\n' "$now" >"$BUILD/built"
    fi
    exec {lock}>&-
}

# source_files: what belongs to the tree in the working directory.  Untracked
# files count: one tests before one commits.
source_files() {
    if git -c safe.directory='*' rev-parse --is-inside-work-tree &>/dev/null; then
        git -c safe.directory='*' ls-files -co --exclude-standard | sort -u
    else
        find . -name .git -prune -o -type f -printf '%P\n' | sort
    fi
}

# source_copy SOURCE: BUILD/src becomes SOURCE; BUILD/sources lists the files
# with their times and sizes.
source_copy() {
    local source=$1 gone
    mkdir -p "$BUILD/src"
    (cd "$source" && source_files | while IFS= read -r it; do
        [[ ! -e $it && ! -L $it ]] || printf '%s\0' "$it"
    done | xargs -0 stat --printf '%n\t%Y.%y\t%s\t%a\n' --) >"$BUILD/sources.new"
    if [[ -f $BUILD/sources ]]; then
        cmp -s "$BUILD/sources" "$BUILD/sources.new" && return
        comm -23 <(cut -f1 "$BUILD/sources") <(cut -f1 "$BUILD/sources.new") |
            while IFS= read -r gone; do rm -f "$BUILD/src/$gone"; done
    fi
    tar -C "$source" -cf - --verbatim-files-from --no-recursion \
        -T <(cut -f1 "$BUILD/sources.new") | tar -C "$BUILD/src" -xf -
    mv "$BUILD/sources.new" "$BUILD/sources"
}

# plugstack_write STAGE: what makes Slurm load what was built.
plugstack_write() {
    local stage=$1 plugin
    plugin=$(cd "$stage" && find . -name berth.so -print -quit)
    [[ -n $plugin ]] || die "install: the build has installed no berth.so"
    mkdir -p "$stage/etc/slurm/plugstack.conf.d"
    echo 'include /etc/slurm/plugstack.conf.d/*.conf' >"$stage/etc/slurm/plugstack.conf"
    echo "required ${plugin#.}" >"$stage/etc/slurm/plugstack.conf.d/berth.conf"
}

# deploy_all: every host gets what differs; a slurmd that has the old plugin
# mapped starts again.
deploy_all() {
    local host changed since restarted=()
    now_ms
    since=$REPLY
    for host in $(state_hosts); do
        host_open "$host"
        changed=$(deploy "$BUILD/stage" "/proc/$REPLY/root")
        [[ $host != login && $changed == *[[:space:]]restart ]] || continue
        node_restart "$host"
        restarted+=("$host")
    done
    took "$since"
    say "installed on every host: $REPLY; slurmd started again on: ${restarted[*]:-none}"
}

# deploy STAGE ROOT: prints the files it replaced, and `restart` at the end if
# the plugin or what loads it is among them.  A file in use is replaced by
# rename(2), never written to.
deploy() {
    local stage=$1 root=$2 it restart=''
    while IFS= read -r it; do
        if [[ -L $stage/$it ]]; then
            [[ $(readlink "$stage/$it") != "$(readlink "$root/$it")" ]] || continue
        elif cmp -s "$stage/$it" "$root/$it"; then
            continue
        fi
        mkdir -p "$root/${it%/*}"
        cp -dp "$stage/$it" "$root/$it.berth-new"
        mv -T "$root/$it.berth-new" "$root/$it"
        printf '%s\n' "$it"
        [[ $it != */berth.so && $it != *plugstack* ]] || restart=yes
    done < <(cd "$stage" && find . \( -type f -o -type l \) -printf '%P\n')
    [[ -z $restart ]] || printf '\nrestart\n'
}
