/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The files that a command of the host, which a program in a container starts, finds on
 * its command line and in its environment. The host may have others by these names
 * (srun(1), sbatch(1)). */

enum berth_outside_use {
    BERTH_OUTSIDE_READ, /* the command reads it, once */
    BERTH_OUTSIDE_SAME, /* Slurm opens it, on any node and at any time */
    BERTH_OUTSIDE_NAME, /* Slurm starts tasks in the directory of that name */
    BERTH_OUTSIDE_IN, /* Slurm makes it, or completes its name: its directory counts */
};

struct berth_outside_file {
    const char *option; /* for people; or the variable */
    enum berth_outside_use use;
    char *const *word; /* that names it; NULL: a variable does */
    const char *path;  /* in *WORD */
    bool is_searched;  /* where the working directory does not have it, too */
};

/* Where to look on; COMMAND and what is behind it, ended by NULL, stays. */
struct berth_outside_files {
    const char *command;
    char *const *at;
    bool is_multi; /* its component, or a variable, has said --multi-prog */
};

/* COMMAND: the name and its arguments. One that starts no tasks has no files. */
struct berth_outside_files berth_outside_files(char *const *command);

/* The next file; false: there are no more. */
bool berth_outside_files_next(struct berth_outside_files *files,
                              struct berth_outside_file *ret);

/* Does VARIABLE (NAME=VALUE) name a file for COMMAND? Then that is *RET. */
bool berth_outside_files_variable(const char *command, const char *variable,
                                  struct berth_outside_file *ret);

/* How much of FILE's path names its directory: up to the slash before its last part,
 * or before the first part with a %, which Slurm replaces. 0: it has none. */
size_t berth_outside_files_directory(const struct berth_outside_file *file);
