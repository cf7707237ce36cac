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

static int slow(int at, const char *path, int flags, va_list more)
{
    size_t length = strlen(path);
    const char *seconds = getenv("SLOW");
    mode_t mode = va_arg(more, mode_t);

    if (seconds && strcmp(program_invocation_short_name, "berth-start") == 0 &&
        length > 4 && strcmp(path + length - 4, ".sif") == 0)
        sleep((unsigned int)atoi(seconds));
    return (int)syscall(SYS_openat, at, path, flags, mode);
}

#define SLOW(name, parameters, at)                                                     \
    int name parameters                                                                \
    {                                                                                  \
        va_list more;                                                                  \
        int fd;                                                                        \
                                                                                       \
        va_start(more, flags);                                                         \
        fd = slow(at, path, flags, more);                                              \
        va_end(more);                                                                  \
        return fd;                                                                     \
    }

SLOW(open, (const char *path, int flags, ...), AT_FDCWD)
SLOW(open64, (const char *path, int flags, ...), AT_FDCWD)
SLOW(openat, (int at, const char *path, int flags, ...), at)
SLOW(openat64, (int at, const char *path, int flags, ...), at)
EOC

# slow SECONDS TASKS
slow() {
    alice env SLOW="$1" LD_PRELOAD=/home/alice/slow.so srun -Q -w n1 -n "$2" "$A" \
        env -u LD_PRELOAD sh -c 'echo ran' 2>&1
    echo "status $?"
}

printf 'runtime:\n  start_timeout: %s\n' 1 | site n1
equal "the first task is late, and no task starts" \
    "berth: n1: the container did not start within 1 seconds; ask the administrators (start_timeout in berth.yaml)
status 1" "$(slow 6 4 | grep -v '^srun: error: n1: task')"
equal "a step on time" "ran ran status 0" "$(slow 0 2 | paste -sd' ')"

printf 'runtime:\n  start_timeout: %s\n' 4 | site n1
slow 3 3 >"/tmp/$$.slow" &
for _ in {1..100}; do
    job=$(on login root squeue -h -t R -o %i)
    [[ -z $job ]] || ! on n1 root pgrep -x berth-start >/dev/null || break
    sleep 0.1
done
on login root scontrol suspend "$job"
sleep 8
on login root scontrol resume "$job"
wait
equal "time in which the step is suspended does not count" "ran ran ran status 0" \
    "$(paste -sd' ' <"/tmp/$$.slow")"
rm -f "/tmp/$$.slow"
finish
