/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <slurm/spank.h>

/* In a step's slurmstepd, as root: let the job have a server on this node
 * (src/job/message.h), which is started where none listens yet. It is no child of
 * slurmstepd: it is put into the job's extern step (PrologFlags=Contain), ends with
 * that, and is `berth-start --job PID`, with the number of that step's slurmstepd. It
 * is the user's, without capabilities, in a session of its own, and has the listening
 * socket as descriptor 3, /dev/null as the standard ones, and PATH alone as its
 * environment.
 *
 * Takes a second at most, and says nothing: where a job cannot have a server, its steps
 * do without. */
void berth_extern_serve(spank_t sp);
