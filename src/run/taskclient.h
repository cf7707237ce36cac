/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "plan/order.h"

/* How the tasks of a step meet that run `berth run`, as slurmstepd has the plugin to
 * make them meet. The first one starts a process, the task server (run/taskserver.h),
 * that listens at an abstract address (unix(7)), whose name has the user, the job, the
 * step, slurmstepd and the namespaces. Any user, and a program in an image, can bind
 * that name, or connect to it: so each side checks that the other is a process of the
 * user on the host (ipc/peer.h) before it sends or reads anything. Outside of a step no
 * other task can come: there the task server has one end of a pair of sockets, and no
 * name. */

/* A task that asks. Borrows everything. */
struct berth_taskclient {
    bool is_step; /* other tasks may come */
    uint64_t key;
    unsigned int rank;     /* in the step */
    unsigned int limit;    /* as for berth_rendezvous_configure(); the task that */
    const char *forbidden; /* starts the server decides for all */
    const char *node;      /* in messages */
};

/* Meet the other tasks of the step; outside of a step, nobody. Sets `container` and the
 * descriptors of ORDER, which stay open on exec. Returns 0, or -1 with a sentence in
 * ERR; then `report` of ORDER may be set, too. */
int berth_taskclient_join(const struct berth_taskclient *task,
                          struct berth_order *order, struct berth_err *err);
