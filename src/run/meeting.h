/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "plan/order.h"

/* Where the tasks of a step meet that run `berth run`, as slurmstepd has the plugin to
 * make them meet. The first one starts a process, which makes the rendezvous of the
 * node (step/rendezvous.h) and listens at an abstract address (unix(7)). Its name has
 * the user, the job, the step, slurmstepd and the namespaces, so that only tasks that
 * can share a container find each other. The process gives each task the descriptors of
 * the rendezvous, and a place in it: tasks with the same key share a container. It
 * watches the tasks, also after exec, and when all that have come have ended, it ends
 * the containers and itself. Nothing is left then, not even a name.
 *
 * The first tasks wait until all of the step on this node have come, or none has come
 * for a while: so each is told how many they are. */

/* What a task asks for. Borrows everything. */
struct berth_meeting {
    uint64_t key;          /* of its container */
    unsigned int limit;    /* as for berth_rendezvous_configure(); the */
    const char *forbidden; /* first task decides for all */
    const char *node;      /* in messages */
};

/* Is the calling process in a step of srun? */
bool berth_meeting_is_step(void);

/* Meet the other tasks of the step; outside of a step, nobody. Sets `container` and the
 * descriptors of ORDER, which stay open on exec. Returns 0, or -1 with a sentence in
 * ERR. */
int berth_meeting_join(const struct berth_meeting *wanted, struct berth_order *order,
                       struct berth_err *err);
