/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"
#include "base/strvec.h"
#include "plan/launch.h"
#include "report/binding.h"

/* Putting the host's MPI into a container that runs (--mpi-bind). The program berth-mpi
 * does it, so that a step without the option pays for none of it. */

/* The container, and the command that will run in it. Borrows everything. */
struct berth_inject {
    pid_t holder; /* of the namespaces */
    const struct berth_launch
        *launch;             /* the request, the command and the environment */
    const char *environment; /* of the holder, in the form of /proc/PID/environ */
    size_t count;            /* bytes of it */
    unsigned int apart;      /* as in mpi/reach.h */
    struct berth_deadline *deadline;
    int task_stderr;                /* standard error of a task; -1: none */
    unsigned int tasks;             /* of the step on this node */
    pid_t parent;                   /* of the tasks */
    const struct berth_strvec *set; /* NAME=VALUE that the image's MPI is to have, too;
                                       NULL: nothing */
};

/* A child of the caller that may live on, to watch the tasks (witness/witness.h). It
 * ends when END is closed, if not before. */
struct berth_inject_witness {
    pid_t pid;
    int end;
};

/* The result. */
struct berth_injected {
    struct berth_buf environment; /* with what the host's MPI wants; the same form */
    struct berth_binding binding;
    struct berth_inject_witness witness; /* {0}: there is none */
};

/* What the runtime is to mount so that the host's MPI can be seen in the container;
 * appends SRC:DST:ro. The user's directory is made if need be. */
int berth_inject_mounts(const struct berth_request *request,
                        struct berth_strvec *mounts, struct berth_err *err);

/* What the profiles of the host's MPI want mounted and this host has, but where the
 * request mounts something itself; appends SRC:DST:ro|rw. TERMS name the site's
 * profiles. */
int berth_inject_fabric(const struct berth_request *request,
                        const struct berth_terms *terms, struct berth_strvec *mounts,
                        struct berth_err *err);

/* Binds the host's MPI as the request's mode says; off: only copies the environment.
 * Returns 0 with *RET_INJECTED, which the caller owns (berth_injected_fini); -1 with a
 * sentence in ERR when the step must not run. */
int berth_inject(const struct berth_inject *inject, struct berth_injected *ret_injected,
                 struct berth_err *err);

void berth_injected_fini(struct berth_injected *injected);
