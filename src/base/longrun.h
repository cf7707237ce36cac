/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* A program that may take minutes: its lines are handed on while it runs, and if our
 * process dies, by Ctrl-C or otherwise, all its processes are killed at once, and what
 * they have left is removed. */
struct berth_longrun {
    const char *const *argv;   /* ended by NULL; argv[0] is a path */
    const char *const *env;    /* ended by NULL */
    const char *const *scraps; /* paths that are removed if our process dies, ended by
                                  NULL */
    void (*line)(void *data, const char *line); /* of output and errors, without the
                                                   newline */
    void (*tick)(void *data);                   /* several times a second */
    void *data;
};

/* Run the program, without input, and wait for its end without a time limit. Nothing
 * that it started is left. *RET_STATUS is that of waitpid(2). Returns 0, or -1 with a
 * sentence in ERR if the program cannot be started. */
int berth_longrun(const struct berth_longrun *run, int *ret_status,
                  struct berth_err *err);
