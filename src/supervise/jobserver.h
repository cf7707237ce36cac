/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

/* The descriptor of the listening socket, which slurmstepd has made. */
enum { BERTH_JOBSERVER_SOCKET = 3 };

/* `berth-start --job PID`: serve the containers of a job on this node to its steps
 * (job/message.h), as the user, until process PID, the slurmstepd of the job's extern
 * step, has ended. Returns then; the containers end with the caller. */
void berth_jobserver_run(pid_t extern_step);
