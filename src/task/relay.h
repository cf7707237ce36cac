/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_TASK_RELAY_H
#define BERTH_TASK_RELAY_H

#include "base/err.h"

/* A runtime that stays in front of its application hands on every signal that it gets.
 * But who signals a step, a process group or a terminal has reached the application
 * already, which then sees each signal twice. So berth-init stands between the two: the
 * application is its child, and a signal of the runtime goes on to the application only
 * if berth-init did not get the same signal from elsewhere too. (A setuid runtime could
 * not be traced to the same end.) */

/* Split in two. Returns 0 in the process that becomes the application, with the signal
 * mask as it was; it dies with the other, which ends as it ends, holds no descriptor
 * and no directory, and never returns. Returns -1 with a sentence in ERR. */
int berth_relay(struct berth_err *err);

#endif
