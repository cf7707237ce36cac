/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>

#include "base/err.h"
#include "pull/listen.h"

/* Run ARGV (argv[0] is a path, ended by NULL) with the environment ENV, without input,
 * and wait for its end, however long. It is in our process group, so that Ctrl-C ends
 * both, and gets SIGTERM when we die; signals that end a process end ours meanwhile,
 * blocked or not, unless it handles them. What it says goes to LISTEN; where that has a
 * terminal it speaks to one of the same size. *RET_STATUS is as waitpid(2) tells it; 0
 * where our process does not get to see how its children end. Returns 0, or -1 with a
 * sentence in ERR when it cannot be started. */
int berth_pull_run(const char *const *argv, const char *const *env,
                   struct berth_listen *listen, int *ret_status, struct berth_err *err);

/* srun blocks the signals that would end it, until it has a thread for them. This lets
 * them end it, until the caller sets the mask back to *RET_BEFORE; except for signals
 * that it handles or ignores. */
void berth_pull_unblock_signals(sigset_t *ret_before);
