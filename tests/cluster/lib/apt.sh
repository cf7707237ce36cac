# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Debian packages: those this tool needs on the machine, and single .deb files
# of another release, fetched without touching the machine's own apt state.

# need_packages PACKAGE...: installs what is missing.
need_packages() {
    local package missing=()
    for package; do
        dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null |
            grep -qx installed || missing+=("$package")
    done
    ((${#missing[@]})) || return 0
    step "installing ${missing[*]}" packages_install "${missing[@]}"
}

# One at a time: apt-get does not wait for the lock on its lists.
packages_install() {
    local log
    log=$({
        flock 9
        apt-get update &&
            DEBIAN_FRONTEND=noninteractive apt-get install -y \
                --no-install-recommends "$@"
    } 2>&1 9<"${BASH_SOURCE[0]}") || { tail -n 20 <<<"$log" >&2; die \
        "apt-get could not install $*"; }
}

# apt_download DIR SUITE MIRROR PACKAGE...: puts the .deb files into DIR.
apt_download() {
    local dir=$1 suite=$2 mirror=$3 state=$1/apt-$2
    local keys=/usr/share/keyrings/debian-archive-keyring.gpg
    shift 3
    mkdir -p "$state"/{lists,archives}/partial
    printf 'deb [signed-by=%s] %s %s main\n' "$keys" "$mirror" "$suite" \
        >"$state/sources.list"
    local options=(
        -o "Dir::State::Lists=$state/lists" -o "Dir::Cache=$state"
        -o "Dir::Etc::SourceList=$state/sources.list"
        -o Dir::Etc::SourceParts=/dev/null -o Dir::State::status=/dev/null
        -o Dir::Etc::PreferencesParts=/dev/null
        -o Acquire::Check-Valid-Until=false -o APT::Sandbox::User=root
    )
    apt-get "${options[@]}" update
    (cd "$dir" && apt-get "${options[@]}" download "$@")
    rm -rf "$state"
}
