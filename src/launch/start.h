/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_LAUNCH_START_H
#define BERTH_LAUNCH_START_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"
#include "plan/launch.h"

/* A container that a runtime starts for berth-init to hold. */
struct berth_start {
    const struct berth_launch *launch;
    pid_t runtime;        /* a child of ours */
    int log;              /* what it says (step/log.h) */
    int answer;           /* a socket with SO_PASSCRED, to berth-init */
    int tasks;            /* readable when no task waits any more; -1: not watched */
    unsigned int seconds; /* that it may take, */
    struct berth_deadline *deadline; /* and what is left of them */
};

/* Changes to the directory where the runtime is started: DIRECTORY, or / if DIRECTORY
 * is NULL or cannot be read, because the runtime opens its working directory. Returns
 * 0, or -1 with errno. */
int berth_start_enter(const char *directory);

/* Wait until berth-init runs: which process that is, in our numbers, and its
 * environment, each variable with its NUL. Returns 0, or -1 with a sentence in ERR. */
int berth_start_await(const struct berth_start *start, pid_t *ret_holder,
                      struct berth_buf *ret_environ, struct berth_err *err);

#endif
