/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <slurm/spank.h>

/* In the slurmstepd of a step, as root: start the job's server on this node
 * (run/jobserver.h), unless one listens.
 *
 * The server is `berth-start --job PID`, where PID is the slurmstepd of the job's
 * extern step (PrologFlags=Contain). The server is a process of that step, not a child
 * of this slurmstepd, and ends with that step. It runs as the user, without
 * capabilities, in its own session. Descriptor 3 is the listening socket, the standard
 * descriptors are /dev/null, and the environment has PATH and what names the job and
 * the node.
 *
 * Takes at most a second. Reports nothing: if the server cannot start, the containers
 * of the job's steps end with their steps. */
void berth_startjobserver(spank_t sp);
