/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/deadline.h"
#include "base/err.h"
#include "base/strvec.h"
#include "container/mountcheck.h"
#include "plan/launch.h"
#include "container/namespaces.h"

/* A container that a runtime starts for berth-init to hold. Borrows everything. */
struct berth_start {
    const struct berth_launch *launch;
    const sigset_t *mask; /* the signal mask of the runtime; NULL: the caller's */
    int inner; /* the inner user namespace of container/outer.h, in whose outer one the
                  runtime is; -1: none */
    int programs; /* a directory that berth-init holds open as BERTH_START_PROGRAMS; -1:
                     none */
    int overlay;  /* a file that berth-init holds open as BERTH_START_OVERLAY
                     (container/overlay.h); -1: none */
    const struct berth_mountcheck
        *mounts; /* whose places berth-init looks at; NULL: none
                  */
    int tasks;   /* end of file: berth-init ends, and the container ends with it */
    unsigned int seconds;            /* that the start may take */
    struct berth_deadline *deadline; /* what is left of them */

    /* Set by berth_start(); log and answer must be -1 before: */
    pid_t runtime; /* a child of ours, the leader of a process group; 0: none */
    int log;       /* its output; -1: none */
    int answer;    /* a socket to berth-init; -1: none */
};

/* The numbers of those descriptors in berth-init: a path through /proc leads to
 * them, also for every program of the image. */
enum { BERTH_START_PROGRAMS = 7, BERTH_START_OVERLAY };

/* Start the runtime, without input, with its output in the log, and with no descriptor
 * of the caller. Returns 0, or -1 with a sentence in ERR; the caller ends with
 * berth_start_fini() in both cases. */
int berth_start(struct berth_start *start, struct berth_err *err);

/* The same without a runtime: start berth-init in the container of HOLDER, with
 * a copy of its mounts and with ENVIRONMENT. If LOOKS is true and the container lacks
 * the directory of the launch, the process ends with BERTH_START_NO_DIRECTORY. */
int berth_start_in(struct berth_start *start, struct berth_holder holder,
                   char *const *environment, bool looks, struct berth_err *err);

enum { BERTH_START_NO_DIRECTORY = 75 };

/* Wait until berth-init runs. Returns 0 with its process id, as the caller sees it, and
 * its environment; -1 with a sentence in ERR if it did not
 * start in time, or if a mount of `mounts` is not there: then *RET_HOLDER is set, too.
 */
int berth_start_await(const struct berth_start *start, struct berth_holder *ret_holder,
                      struct berth_strvec *ret_environ, struct berth_err *err);

/* Close log and answer. */
void berth_start_fini(struct berth_start *start);

/* Become the runtime of LAUNCH with the words ARGV, in the directory of the task. If
 * that is gone or cannot be read, the directory is /, because the runtime opens its
 * working directory. Returns only on failure: -1 with a sentence in ERR. */
int berth_start_become(const struct berth_launch *launch, char *const *argv,
                       struct berth_err *err);

/* The sentence about a start that took longer than the limit, in seconds. */
#define BERTH_START_TOO_LATE                                                           \
    "the container did not start within %u seconds; ask the administrators "           \
    "(start_timeout in berth.yaml)"
