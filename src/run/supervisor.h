/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "plan/launch.h"
#include "ipc/rendezvous.h"

/* Start a process, the supervisor, that starts the container of LAUNCH for all tasks of
 * RENDEZVOUS, keeps the application's signals from the programs that serve the image,
 * and writes the result into the rendezvous. The container belongs to no task: it is
 * not the child of a task, holds no descriptor of a task, has the CPUs of the step, and
 * gets no signal for the application. It has the caller's environment. Returns 0 when
 * the supervisor runs, or -1 with a sentence in ERR. */
int berth_supervisor_start(const struct berth_launch *launch,
                           struct berth_rendezvous *rendezvous, struct berth_err *err);
