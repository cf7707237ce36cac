/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "base/strvec.h"
#include "inside/hostcommand.h"
#include "plan/launch.h"

/* The server of inside/hostcommand.h: it runs commands of the host, such as srun, for
 * programs in a container. Until a program asks, a step has a socket and a descriptor
 * more; then one process answers until the step ends, with a child for each command.
 * All of them run as the user, in the cgroup of the step. */

/* The supervisor's part of it. BERTH_HOSTCOMMAND_NONE: the container has no commands of
 * the host. */
struct berth_hostcommand {
    const struct berth_launch *launch;
    int socket;   /* programs connect to it; -1: none */
    int programs; /* the directory of the commands, which berth-init holds open
                     (container/start.h), so that no mount is needed; -1: none */
    pid_t server; /* the process that answers; 0: none yet */
    struct berth_strvec container;           /* the environment of its tasks, in which
                                                the first of a name counts; the
                                                supervisor fills it */
    char token[BERTH_HOSTCOMMAND_TOKEN + 1]; /* a program must know it */
    const sigset_t *mask;                    /* the signal mask of a task */
};

#define BERTH_HOSTCOMMAND_NONE                                                         \
    ((struct berth_hostcommand){.socket = -1, .programs = -1})

/* Make the socket and the token for LAUNCH. *RET is BERTH_HOSTCOMMAND_NONE but for the
 * launch if the site allows no commands, the container is closed (--contain), the
 * launch is not a step of Slurm or is only explained, or the socket cannot be made. */
void berth_hostcommand_open(const struct berth_launch *launch,
                            struct berth_hostcommand *ret);

/* Append to RET the variables (NAME=VALUE) by which a task finds the commands; none
 * without a socket. HOLDER is the process of berth-init, which has ENVIRONMENT. */
void berth_hostcommand_list(const struct berth_hostcommand *hostcommand, pid_t holder,
                            char *const *environment, struct berth_strvec *ret);

/* Call it when a program connects. Starts the process that answers, a child of the
 * caller; if there can be none, closes the connection. */
void berth_hostcommand_serve(struct berth_hostcommand *hostcommand);
