/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "plan/launch.h"

/* A runtime writes its messages to memory, because every task's runtime writes the
 * same, about itself, and the user wants one line. */

/* Returns the descriptor to which the runtime writes, which stays open through exec
 * only where it is copied to standard error; -1 with a sentence in ERR. */
int berth_log_open(struct berth_err *err);

/* The runtime of LAUNCH ended before the container had started: why, from its last
 * words in FD. Returns -1. */
int berth_log_explain(int fd, const struct berth_launch *launch, struct berth_err *err);
