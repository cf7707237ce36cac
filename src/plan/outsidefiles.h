/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Finds the files that the command line and the environment name, of a command of the
 * host that a program in a container starts (srun(1), sbatch(1)). On the host, other
 * files may have these names. */

enum berth_outside_use {
    BERTH_OUTSIDE_READ, /* the command reads the file, once */
    BERTH_OUTSIDE_SAME, /* Slurm opens the file, on any node and at any time */
    BERTH_OUTSIDE_NAME, /* Slurm starts tasks in a directory of this name */
    BERTH_OUTSIDE_IN,   /* Slurm makes the file, or completes its name: its directory
                           counts */
};

struct berth_outside_file {
    const char *option; /* the name of the option or variable, for messages */
    enum berth_outside_use use;
    char *const *word; /* the word that names the file; NULL: a variable does */
    const char *path;  /* in *WORD, or in the variable */
    bool
        is_searched; /* in PATH, too, if the working directory does not have the file */
};

/* The state of a search. Borrows COMMAND and its arguments. */
struct berth_outside_files {
    const char *command;
    char *const *at;
    bool is_multi; /* the component at AT, or a variable, sets --multi-prog */
};

/* Start a search in COMMAND: a name and its arguments, ended by NULL. Only salloc,
 * sbatch and srun have files. */
struct berth_outside_files berth_outside_files(char *const *command);

/* Find the next file. Returns false if there are no more. */
bool berth_outside_files_next(struct berth_outside_files *files,
                              struct berth_outside_file *ret);

/* Does VARIABLE (NAME=VALUE) name a file for COMMAND? Then *RET is that file. */
bool berth_outside_files_variable(const char *command, const char *variable,
                                  struct berth_outside_file *ret);

/* The length of the directory in FILE's path: up to the slash before its last part, or
 * before the first part with a %, which Slurm replaces. 0: there is no directory. */
size_t berth_outside_files_directory(const struct berth_outside_file *file);
