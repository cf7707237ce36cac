/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "running/container.h"

/* What the processes of a user on this node tell of containers. They are the user's
 * own, and so is what they say: nothing here is a boundary between users. */

/* Whose containers on this node are meant. */
struct berth_find {
    uid_t user;
    unsigned int job;    /* 0: of all jobs; of a het job the leader's number, */
    unsigned int number; /* and its own */
    int rank;            /* those with this task; -1: all */
};

/* Append to RET the containers in which a task runs, and those that a job keeps for its
 * steps. */
int berth_find_containers(const struct berth_find *wanted, struct berth_containers *ret,
                          struct berth_err *err);
