/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "plan/launch.h"
#include "step/rendezvous.h"

/* Start a process that starts the container of LAUNCH for all tasks of RENDEZVOUS,
 * keeps the programs that serve its image from the application's signals, and tells the
 * rendezvous how it went. The container belongs to no task: it is not the child of one,
 * holds none of their descriptors, has the CPUs of the step, and no signal for the
 * application reaches it. It has the caller's environment. Returns 0 when the process
 * runs; what happens then is in the rendezvous. */
int berth_supervisor_start(const struct berth_launch *launch,
                           struct berth_rendezvous *rendezvous, struct berth_err *err);
