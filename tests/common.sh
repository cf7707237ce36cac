# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What tests/all and tests/demo have in common.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck disable=SC2034
tool=$top/tests/cluster/cluster
# shellcheck disable=SC2034
declare -A SLURM=([bookworm]=22.05 [trixie]=24.11 [sid]=26.05)

[[ $EUID -eq 0 ]] || {
    echo "${0##*/}: needs root, to make network and mount namespaces" >&2
    exit 1
}

started=$SECONDS

# heading TEXT: one line of progress with the time since the start.
heading() {
    printf '\n[%3d:%02d] %s\n' $(((SECONDS - started) / 60)) $(((SECONDS - started) % 60)) "$*"
}

# need_packages NAME...: install what is missing, by package name.
need_packages() {
    local name missing=()
    for name in "$@"; do
        dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null |
            grep -qx installed || missing+=("$name")
    done
    ((${#missing[@]})) || return 0
    heading "install packages: ${missing[*]}"
    apt-get update -qq &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends "${missing[@]}" >/dev/null
}
