/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* A runtime that stays in front of its application hands on every signal that it gets.
 * But a signal to a step, a process group or a terminal has already reached the
 * application, which then sees it twice. So berth-init stands between the two: the
 * application is its child, and a signal of the runtime goes on to the application only
 * if berth-init did not get the same signal from elsewhere too. (A setuid runtime could
 * not be traced to the same end.) */

/* Forks. Returns 0 in the child, which becomes the application and has the old signal
 * mask; it dies with the parent. The parent ends with the child's status, holds no
 * directory and no descriptor but HELD (-1: none), and never returns. Returns -1 with a
 * sentence in ERR. */
int berth_signals_forward(int held, struct berth_err *err);
