/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/stat.h>

#include "base/err.h"

/* Files that a command line of srun names. The srun of the host opens them there, so
 * the program in a container that asks for it must see the same ones. */

/* What the program sees, and what was given to its task on the host. Borrows all. */
struct berth_hostfiles {
    /* As stat(2) of the program: returns 0, or -1 if it has nothing at PATH. */
    int (*look)(const void *program, const char *path, struct stat *ret);
    const void *program;
    char *const *task; /* environment of the task on the host */
};

/* Check the files of COMMAND (words, ended by NULL), in --error, --input, --multi-prog
 * and --output, and in the variables for these, unless the task has the same. The
 * caller is in the working directory of the command, which gets ENVIRONMENT. Returns 0,
 * or -1 with a sentence in ERR. */
int berth_hostfiles_check(const struct berth_hostfiles *files, char *const *command,
                          char *const *environment, struct berth_err *err);
