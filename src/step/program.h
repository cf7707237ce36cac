/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* berth-init, open, so that it can be started in an image in which it is not: through
 * /proc/self/fd, which needs no bind mount. The descriptor stays open through exec.
 * Returns it, or -1 with a sentence in ERR. */
int berth_program_open(struct berth_err *err);

/* The sentence for a program of berth, PATH, that cannot be opened or executed, with
 * the reason in errno. Always returns -1. */
int berth_program_missing(const char *path, struct berth_err *err);

/* Prints the release of the program NAME if --version is its only argument (`berth
 * doctor` asks so). Returns whether it did. */
bool berth_program_prints_version(const char *name, int argc, char *const *argv);

/* Bytes of the longest name. */
#define BERTH_PROGRAM_NAME 32

/* The path by which a process that has the program as descriptor FD starts it. */
void berth_program_name(int fd, char name[BERTH_PROGRAM_NAME]);

/* The directory of the commands of Slurm that a container has: INSIDE is as in
 * berth_order_inside(). */
const char *berth_program_commands(const char *inside);

/* What these are found by in the container, for printf(3): the process
 * that holds the directory, and its descriptor. And the PATH where there is none. */
#define BERTH_PROGRAM_DIRECTORY "/proc/%d/fd/%d"
#define BERTH_PROGRAM_PATH      "/bin:/usr/bin"

/* The descriptor in such a path; -1 for any other. */
int berth_program_descriptor(const char *name);
