/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/strvec.h"
#include "job/hostcommand.h"
#include "plan/launch.h"

/* srun in a container: the other side of job/hostcommand.h. It costs a step a socket
 * and a descriptor until a program asks; then one process answers until the step ends,
 * with a process for each command. All of them are the user's, in the step's cgroup. */

/* What the supervisor of a container has for it. Start with BERTH_HOSTCOMMAND_NONE; all
 * of it is valid then: nothing is offered. */
struct berth_hostcommand {
    const struct berth_launch *launch;
    int socket;      /* that programs connect to; -1: none */
    int programs;    /* the directory of the container's commands, which berth-init
                        holds (runtime/start.h): no mount is needed; -1: none */
    pid_t server;    /* the process that answers; 0: there is none yet */
    int environment; /* memory for that of its task, where berth-init
                        writes it (supervise/own.h); -1: it is */
    struct berth_strvec container;           /* the environment of its tasks */
    char token[BERTH_HOSTCOMMAND_TOKEN + 1]; /* that programs show */
    const sigset_t *mask;                    /* of a task */
};

#define BERTH_HOSTCOMMAND_NONE                                                         \
    ((struct berth_hostcommand){.socket = -1, .programs = -1, .environment = -1})

/* Offer what the site allows for LAUNCH, a step of Slurm, unless its container is to be
 * closed (--contain). Where that cannot be done the
 * container has no such command, as without it. */
void berth_hostcommand_open(const struct berth_launch *launch,
                            struct berth_hostcommand *ret);

/* Append to RET the variables of the tasks, NAME=VALUE, where something is offered.
 * HOLDER is the process of berth-init, AFTER its environment; NULL: the PATH is left to
 * berth-init. */
void berth_hostcommand_list(const struct berth_hostcommand *hostcommand, pid_t holder,
                            const struct berth_buf *after, struct berth_strvec *ret);

/* Somebody connects. Starts the process that answers, a child of the caller; where that
 * cannot be, the connection is closed. */
void berth_hostcommand_serve(struct berth_hostcommand *hostcommand);
