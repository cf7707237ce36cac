/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_TASK_STANDALONE_H
#define BERTH_TASK_STANDALONE_H

#include "base/err.h"
#include "conf/site.h"
#include "plan/request.h"

/* What the plugin does in a step, for one process without it: the same berth-task, and
 * a container for this process alone. */

/* Tell berth-task, in the environment of the calling process, to run what REQUEST asks
 * for, and make the room of its container (task/room.h). The container ends with the
 * calling process, whatever that becomes. Where an mpirun has started the process, its
 * MPI library is told that the other ranks are in containers of their own
 * (berth_launch_apart()). Returns 0, or -1 with a sentence in ERR. */
int berth_standalone_prepare(const struct berth_request *request,
                             const struct berth_site *site, struct berth_err *err);

/* Become berth-task in front of COMMAND, words ended by NULL. Returns only when that
 * fails: -1 with a sentence in ERR. */
int berth_standalone_become(char *const *command, struct berth_err *err);

#endif
