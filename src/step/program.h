/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Open berth-init, so that a process can start it in an image through /proc/self/fd,
 * without a bind mount. Returns a descriptor, which stays open through exec; -1 with a
 * sentence in ERR. */
int berth_program_open(struct berth_err *err);

/* The sentence for a program of berth, PATH, that cannot be opened or executed, with
 * the reason in errno. Always returns -1. */
int berth_program_missing(const char *path, struct berth_err *err);

/* Print the release of the program NAME if --version is its only argument (`berth
 * doctor` runs it so). Returns whether it was printed. */
bool berth_program_prints_version(const char *name, int argc, char *const *argv);

/* Bytes of the longest name of berth_program_name(). */
#define BERTH_PROGRAM_NAME 32

/* Write the path by which a process starts the program that it has open as FD. */
void berth_program_name(int fd, char name[BERTH_PROGRAM_NAME]);

/* Returns the host's directory with the commands of Slurm for a container; INSIDE is as
 * in berth_order_inside(). */
const char *berth_program_commands(const char *inside);

/* The path of that directory in the container, a format for the process that holds it
 * open and its descriptor. And the PATH of a container that has none. */
#define BERTH_PROGRAM_DIRECTORY "/proc/%d/fd/%d"
#define BERTH_PROGRAM_PATH      "/bin:/usr/bin"

/* Returns the descriptor in a path of berth_program_name(); -1 for any other path. */
int berth_program_descriptor(const char *name);
