/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

/* The descriptor of the listening socket of a job's server, which slurmstepd has made.
 */
enum { BERTH_JOBSERVER_SOCKET = 3 };

/* `berth-start --job PID`: serve the containers of a job on this node to its steps
 * (job/protocol.h), as the user. EXTERN_STEP is PID, the slurmstepd of the job's extern
 * step. Returns when that process has ended; the containers end with the caller. */
void berth_jobserver_run(pid_t extern_step);
