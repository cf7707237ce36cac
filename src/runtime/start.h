/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"
#include "plan/launch.h"

/* A container that a runtime starts for berth-init to hold. Borrows everything. */
struct berth_start {
    const struct berth_launch *launch;
    const sigset_t *mask; /* of the runtime's signals; NULL: the caller's */
    int inner; /* of the user namespaces in which it is (step/outer.h), the inner one;
                  -1: none */
    int programs; /* a directory that berth-init holds as BERTH_START_PROGRAMS; -1:
                     none */
    int tasks;    /* at end of file on it berth-init ends, and so does the container */
    unsigned int seconds;            /* that the start may take, */
    struct berth_deadline *deadline; /* and what is left of them */

    /* Set by berth_start(): */
    pid_t runtime; /* a child of ours, the leader of a process group; 0: none */
    int log;       /* what it says (step/log.h); -1: none */
    int answer;    /* a socket to berth-init; -1: none */
    char *socket;  /* its other end, which the runtime and what it starts inherit, as in
                      probe/opened.h */
};

/* The descriptor of berth-init, so that a path through /proc leads to the directory. */
enum { BERTH_START_PROGRAMS = 7 };

/* Start the runtime: without input, its output in the log, with its own three
 * descriptors and no other. */
int berth_start(struct berth_start *start, struct berth_err *err);

/* The same without a runtime: berth-init runs in the container of process HOLDER, with
 * a copy of its mounts and with ENVIRONMENT (as /proc/PID/environ). If LOOKS is true,
 * the directory of the launch has to be in it, or the process ends with
 * BERTH_START_NO_DIRECTORY. */
int berth_start_in(struct berth_start *start, pid_t holder,
                   const struct berth_buf *environment, bool looks,
                   struct berth_err *err);

enum { BERTH_START_NO_DIRECTORY = 75 };

/* Wait until berth-init runs: which process that is, in our numbers, and its
 * environment, each variable with its NUL. */
int berth_start_await(const struct berth_start *start, pid_t *ret_holder,
                      struct berth_buf *ret_environ, struct berth_err *err);

/* Closes log and answer. */
void berth_start_fini(struct berth_start *start);

/* Become the runtime of LAUNCH with the words ARGV, in the directory of the task, or in
 * / where that is gone or cannot be read, because the runtime opens its working
 * directory. Returns only on failure: -1 with a sentence in ERR. */
int berth_start_become(const struct berth_launch *launch, char *const *argv,
                       struct berth_err *err);
