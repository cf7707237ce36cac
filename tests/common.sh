# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What tests/all and tests/demo have in common.

# Where this starts with nohup or in the background, signals are ignored, and so they would
# be in all that it starts; bash cannot change that. In a session of its own nothing hangs
# up, so that nohup keeps its meaning.
if [[ -z ${BERTH_SIGNALS-} ]]; then
    export BERTH_SIGNALS=default
    ((0x$(awk '/^SigIgn:/ { print $2 }' /proc/$$/status) & 1)) ||
        exec env --default-signal "$0" "$@"
    setsid env --default-signal "$0" "$@" &
    trap 'kill -TERM $!' INT TERM
    while wait $!; status=$?; kill -0 $! 2>/dev/null; do :; done
    exit "$status"
fi
unset BERTH_SIGNALS

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck disable=SC2034
tool=$top/tests/cluster/cluster
# shellcheck disable=SC2034
declare -A SLURM=([bookworm]=22.05 [trixie]=24.11 [sid]=26.05)

# shellcheck source=tests/cluster/lib/apt.sh
. "$top/tests/cluster/lib/apt.sh"
# shellcheck source=tests/cluster/lib/install.sh
. "$top/tests/cluster/lib/install.sh"

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
