/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

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

/* The descriptor of the listening socket of a job's server, which slurmstepd has made.
 */
enum { BERTH_JOBSERVER_SOCKET = 3 };

/* `berth-start --job PID`: serve the containers of a job on this node to its steps
 * (job/protocol.h), as the user. EXTERN_STEP is PID, the slurmstepd of the job's extern
 * step. Returns when that process has ended; the containers end with the caller. */
void berth_jobserver_run(pid_t extern_step);
