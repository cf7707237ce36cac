/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "cli/container.h"

/* Containers as the processes of a user on this node show them. The user could forge
 * what these processes say: nothing here is a boundary between users. */

/* Which containers of this node to find. */
struct berth_find {
    uid_t user;
    unsigned int job;    /* 0: of all jobs; of a het job the leader's number */
    unsigned int number; /* of a het job the component's own number, or 0 */
    int rank;            /* only containers with this task; -1: all */
};

/* Append to RET the containers in which a task runs, and those that a job keeps for its
 * steps. */
int berth_find_containers(const struct berth_find *wanted, struct berth_containers *ret,
                          struct berth_err *err);
