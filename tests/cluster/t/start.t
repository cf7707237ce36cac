#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The start of a container that takes too long: all tasks of a node start, or none.

# shellcheck disable=SC2016 # words for other shells
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

need_images a
A=--container-image=/images/a.sif

# A file system that stands still: berth-start waits at an image.
on login alice bash -c 'cat >slow.c && gcc -shared -fPIC -o slow.so slow.c' <<'EOC'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int open(const char *path, int flags, ...)
{
    const char *seconds = getenv("SLOW"), *end = strrchr(path, '.');
    va_list more;
    mode_t mode;

    va_start(more, flags);
    mode = va_arg(more, mode_t);
    va_end(more);
    if (seconds && strcmp(program_invocation_short_name, "berth-start") == 0 && end &&
        strcmp(end, ".sif") == 0)
        sleep((unsigned int)atoi(seconds));
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
EOC

slow=(LD_PRELOAD=/home/alice/slow.so srun -Q -w n1 "$A")
ran=(env -u LD_PRELOAD sh -c 'echo ran')

printf 'runtime:\n  start_timeout: %s\n' 1 | site n1
try "the first task is late, and no task starts" \
    "berth: n1: the container did not start within 1 seconds; ask the administrators (start_timeout
        in berth.yaml)
status 1" -- env SLOW=4 "${slow[@]}" -n4 "${ran[@]}"

printf 'runtime:\n  start_timeout: %s\n' 4 | site n1
try "a step on time" $'ran\nran' -- env SLOW=1 "${slow[@]}" -n2 "${ran[@]}"
start late alice env SLOW=3 "${slow[@]}" -n3 "${ran[@]}"
# The job's tasks wait for their container.
wait_for 30 on n1 root pgrep -x berth-start >/dev/null
job=$(on login root squeue -h -t R -o %i)
on login root scontrol suspend "$job"
sleep 5
on login root scontrol resume "$job"
ends "a step that was suspended" late 0
equal "... the time in which it was does not count" $'ran\nran\nran' "$(cat "$work/late")"
finish
