/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_RUNNING_FIND_H
#define BERTH_RUNNING_FIND_H

#include <sys/types.h>

#include "running/container.h"

/* What the processes of a user on this node tell of containers. They are the user's
 * own, and so is what they say: nothing here is a boundary between users. */

/* Append to RET the containers of USER on this node in which a task runs: of JOB (0:
 * of all), those with RANK (-1: all). Returns 0, or -1 with a sentence in ERR. */
int berth_find_containers(uid_t user, unsigned int job, int rank,
                          struct berth_containers *ret, struct berth_err *err);

#endif
