# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the benchmarks of programs that print `TEST BYTES VALUE` (mpi, fabric, libraries):
# sourced with the name of a cluster.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tool=$top/tests/cluster/cluster
name=${1:?usage: tests/bench/${0##*/} CLUSTER [RUNS]}
data=$(mktemp)
trap 'rm -f "$data"' EXIT

# collect SYSTEM SHAPE: those lines of standard input, behind SYSTEM and SHAPE, or one that
# says that there are none; all else to standard error.
collect() {
    awk -v what="$1 $2" '
        /^[a-z]+ [0-9]+ [0-9.]+$/ { print what, $0; good = 1; next }
        { print > "/dev/stderr" }
        END { if (!good) print what, "failed 0 0" }'
}

# loop ARGUMENT...: run the script in standard input on the login node, as alice; what it has
# collected is in $data.
loop() {
    { declare -f collect && cat; } | "$tool" run "$name" -- bash -s "$@" >"$data"
}

# table TITLE: of what is in $data.
table() { python3 "$top/tests/bench/mpi.py" "$data" "$1"; }
