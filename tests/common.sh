# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What tests/all and tests/demo have in common.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck disable=SC2034
tool=$top/tests/cluster/cluster
# shellcheck disable=SC2034
declare -A SLURM=([bookworm]=22.05 [trixie]=24.11 [sid]=26.05)

# shellcheck source=tests/cluster/lib/apt.sh
. "$top/tests/cluster/lib/apt.sh"

die() {
    echo "${0##*/}: $*" >&2
    exit 1
}

[[ $EUID -eq 0 ]] || die "needs root, to make network and mount namespaces"

started=$SECONDS

# heading TEXT: one line of progress with the time since the start.
heading() {
    printf '\n[%3d:%02d] %s\n' $(((SECONDS - started) / 60)) $(((SECONDS - started) % 60)) "$*"
}

# step TEXT COMMAND...: for need_packages.
step() {
    heading "$1"
    "${@:2}"
}
