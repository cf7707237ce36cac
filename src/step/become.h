/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* The last step of a task, in the image, whether it joined a container or has its own.
 * Borrows everything. */
struct berth_become {
    const char *workdir; /* asked for; NULL: not */
    const char *stay;    /* where the task was on the host; NULL: nowhere */
    const char *pwd;     /* PWD on the host; NULL: not set, or not known */
    char **command;      /* ended by NULL */
};

/* Exit status of a task whose application was not started, as in a shell. */
enum { BERTH_REFUSED = 1, BERTH_NOT_EXECUTABLE = 126, BERTH_NOT_FOUND = 127 };

/* Changes to the working directory, and sets PWD to its name on the host. */
int berth_become_chdir(const struct berth_become *become, struct berth_err *err);

/* The path of the command NAME, on the PATH of the current environment. Slurm makes
 * this path the command's argv[0], and so do we: a program may look for its own files
 * beside it. The caller frees it; NULL, with the reason in errno, when there is none.
 */
char *berth_become_find(const char *name);

/* Become the command, found on the PATH of the current environment. Returns only on
 * failure: the exit status, and a sentence in ERR. */
int berth_become_command(const struct berth_become *become, struct berth_err *err);

/* Whether berth_become_command() would succeed: 0, or the exit status with a sentence
 * in ERR. The kernel is asked, in a process that ends before the first instruction of
 * the command. */
int berth_become_try(const struct berth_become *become, struct berth_err *err);
