# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Talking to the person at the terminal, and running long steps so that Ctrl-C
# takes effect at once.  Everything goes to stderr: stdout is for answers.

say() { printf 'cluster: %s\n' "$*" >&2; }

die() {
    say "$*"
    exit 1
}

# now_ms: sets REPLY to a millisecond clock, without a fork.
now_ms() { REPLY=$((${EPOCHREALTIME/[.,]/} / 1000)); }

# took SINCE_MS: sets REPLY to the time passed, as "1.2 s".
took() {
    local since=$1 ms
    now_ms
    ms=$((REPLY - since))
    printf -v REPLY '%d.%d s' $((ms / 1000)) $((ms % 1000 / 100))
}

# step TEXT COMMAND...: one timed line of progress around COMMAND, a function
# or a program.
step() {
    local text=$1 since
    shift
    now_ms
    since=$REPLY
    say "$text ..."
    "$@"
    took "$since"
    say "$text: $REPLY"
}

# quietly LOG COMMAND...: COMMAND's output goes to LOG, whose end is shown when
# it fails.  COMMAND gets namespaces of its own, so that killing it kills all
# that it started, and we wait in the background, so that a trap runs at once.
quietly() { quietly_in --mount-proc "$@"; }

# boxed LOG TREE [SOURCE:PLACE]... -- COMMAND...: the same, in a box on TREE.
boxed() {
    local log=$1
    shift
    quietly_in --net --ipc --uts "$log" "$HERE/lib/box" "$@"
}

# quietly_in UNSHARE-OPTION... LOG COMMAND...
quietly_in() {
    local options=() log pid rc=0
    while [[ $1 == --* ]]; do
        options+=("$1")
        shift
    done
    log=$1
    shift
    unshare --mount --pid --fork --kill-child "${options[@]}" -- "$@" \
        </dev/null >"$log" 2>&1 &
    pid=$!
    CLEANUP_PIDS+=("$pid")
    wait "$pid" || rc=$?
    CLEANUP_PIDS=("${CLEANUP_PIDS[@]/#$pid/}")
    ((rc == 0)) && return 0
    say "failed ($rc): $*"
    tail -n 30 "$log" >&2
    return "$rc"
}

# What a failed or interrupted command must not leave behind.
CLEANUP_PIDS=()
CLEANUP_PATHS=()
CLEANUP_HOOKS=()

cleanup() {
    local rc=$? it
    trap '' INT TERM HUP
    trap - EXIT
    for it in "${CLEANUP_PIDS[@]}"; do
        [[ -z $it ]] || { kill -KILL "$it" && wait "$it"; } 2>/dev/null || true
    done
    for it in "${CLEANUP_HOOKS[@]}"; do "$it" || true; done
    for it in "${CLEANUP_PATHS[@]}"; do
        [[ -z $it ]] || rm -rf --one-file-system -- "$it"
    done
    exit "$rc"
}

# on_exit_clean: from here on the lists above are honoured on every way out.
on_exit_clean() {
    trap cleanup EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
}
