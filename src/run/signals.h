/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* A runtime that stays above its application forwards every signal that it gets. But a
 * signal to a step, a process group or a terminal has already reached the application,
 * which then gets it twice. So berth-init is between the two: the application is its
 * child, and a signal of the runtime is forwarded only if berth-init does not get the
 * same signal from elsewhere. (A setuid runtime cannot be traced, which would do the
 * same.) */

/* Fork. Returns 0 in the child, which becomes the application, has the old signal mask,
 * and dies with the parent. The parent never returns: it forwards signals, keeps no
 * descriptor but HELD (-1: none), and ends with the child's status. Returns -1 with a
 * sentence in ERR if there can be no child. */
int berth_signals_forward(int held, struct berth_err *err);
