/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>

#include "base/err.h"
#include "pull/listen.h"

/* Run ARGV (ended by NULL; argv[0] is a path) with the environment ENV and without
 * input, and wait for its end without a time limit. The child stays in our process
 * group, so that Ctrl-C ends both, and gets SIGTERM when our process dies. Until it
 * ends, signals are unblocked as below. Adds its output to LISTEN; if LISTEN has a
 * terminal, the child gets a terminal of the same size. *RET_STATUS is that of
 * waitpid(2); 0 if our process ignores SIGCHLD. Returns 0, or -1 with a sentence in ERR
 * if the child cannot be started.
 */
int berth_pull_run(const char *const *argv, const char *const *env,
                   struct berth_listen *listen, int *ret_status, struct berth_err *err);

/* Unblock the signals that end a process, except those that our process handles or
 * ignores: srun blocks them until it has a thread that handles them. The caller sets
 * the mask back to *RET_BEFORE. */
void berth_pull_unblock_signals(sigset_t *ret_before);
