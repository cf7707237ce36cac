/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "plan/launch.h"

/* The log of a runtime: memory for its messages. The runtimes of all tasks write the
 * same messages, and the user wants one line. */

/* Make a log. Returns its descriptor, which closes on exec: the runtime has a copy as
 * standard error; -1 with a sentence in ERR. */
int berth_log_open(struct berth_err *err);

/* The runtime of LAUNCH ended before its container had started: write why, from the log
 * FD, into ERR. Always returns -1. */
int berth_log_explain(int fd, const struct berth_launch *launch, struct berth_err *err);
