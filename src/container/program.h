/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* The sentence for a program of berth, PATH, that cannot be opened or executed, with
 * the reason in errno. Always returns -1. */
int berth_program_missing(const char *path, struct berth_err *err);

/* Print the release of the program NAME if --version is its only argument (`berth
 * doctor` runs it so). Returns whether it was printed. */
bool berth_program_prints_version(const char *name, int argc, char *const *argv);

#define BERTH_PROGRAM_INIT_NAME "berth-init"

/* Open berth-init. Returns a descriptor, which stays open through exec; -1 with a
 * sentence in ERR. Programs of the image get the descriptor, too: if they could write
 * to the file (an installation in a home, CVE-2019-5736), it is a sealed copy in
 * memory. */
int berth_program_open(struct berth_err *err);

/* The same for the program PATH. */
int berth_program_open_at(const char *path, struct berth_err *err);

/* Run this program, whose arguments ARGV are, from a copy in memory, too, if an image
 * could write to its file otherwise. Call it first in each program that enters a
 * container, or starts one that does: it has the file as /proc/self/exe until it
 * becomes a program of the image, and the image can name that as the interpreter of the
 * program
 * (#!/proc/self/exe), with a loader of its own. Returns 0 in the process that may go
 * on; -1 with a sentence in ERR. */
int berth_program_protect(char *const *argv, struct berth_err *err);

/* Is NAME, the last part of /proc/PID/exe, that of berth-init? */
bool berth_program_is_init(const char *name);

/* The descriptor of berth-init in the runtime, and the path by which an image starts
 * it, without a bind mount. */
enum { BERTH_PROGRAM_INIT = 3 };
#define BERTH_PROGRAM_INIT_PATH "/proc/self/fd/3"

/* A variable of the runtime alone, unless the user has it: Apptainer and SingularityCE
 * are written in Go, and start sooner if they never collect garbage (GOGC in Go's
 * package runtime). No image has this value. */
#define BERTH_PROGRAM_GOGC "1000003"

/* Remove it if berth has set it. In /proc/PID/environ of berth-init it stays. */
static inline void berth_program_unset_gogc(void)
{
    const char *value = getenv("GOGC");

    if (value && strcmp(value, BERTH_PROGRAM_GOGC) == 0)
        unsetenv("GOGC");
}

/* Returns the host's directory with the commands of Slurm for a container; INSIDE is as
 * in berth_order_inside(). */
const char *berth_program_commands(const char *inside);

/* The path of that directory in the container, a format for the process that holds it
 * open and its descriptor. And the PATH of a container that has none. */
#define BERTH_PROGRAM_DIRECTORY "/proc/%d/fd/%d"
#define BERTH_PROGRAM_PATH      "/bin:/usr/bin"
