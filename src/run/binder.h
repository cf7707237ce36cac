/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/deadline.h"
#include "base/err.h"
#include "base/strvec.h"
#include "plan/launch.h"
#include "plan/binding.h"
#include "container/namespaces.h"

/* Binds the host's MPI over that of a container that runs (--mpi-bind). The program
 * berth-mpi does the work, so that a step without the option does not load it. */

/* The container, and the command that will run in it. Borrows everything. */
struct berth_binder {
    struct berth_holder holder; /* of the namespaces */
    const struct berth_launch
        *launch;              /* the request, the command and the environment */
    char *const *environment; /* of the holder, ended by NULL */
    struct berth_deadline *deadline;
    int task_stderr; /* standard error of a task; -1: none */
    pid_t parent;    /* of the tasks */
};

/* A child of the caller that may watch the tasks (bindover/witness.h). It ends when the
 * caller closes END, or before. */
struct berth_binder_witness {
    pid_t pid;
    int end;
};

/* Tell WATCHER (PID 0: there is none) that the tasks have ended, and whether one has
 * FAILED. */
void berth_binder_end(const struct berth_binder_witness *watcher, bool failed);

/* Append to MOUNTS, as SRC:DST:ro, the directories with copies of the host's MPI, which
 * the runtime mounts. Makes the user's directory if it is missing. Appends nothing
 * without --mpi-bind. */
int berth_binder_mounts(const struct berth_request *request,
                        struct berth_strvec *mounts, struct berth_err *err);

/* Append to MOUNTS PATH:PATH:rw for each path that matches one of PATTERNS (glob(7)),
 * except a path with a colon. Returns 0, or -1 when out of memory. */
int berth_binder_devices(const struct berth_strvec *patterns,
                         struct berth_strvec *mounts, struct berth_err *err);

/* Append to MOUNTS, as SRC:DST:ro|rw, the paths of this host that the profiles of its
 * MPI name, unless the request mounts something there. TERMS name the site's profiles.
 */
int berth_binder_fabric(const struct berth_request *request,
                        const struct berth_terms *terms, struct berth_strvec *mounts,
                        struct berth_err *err);

/* Bind the host's MPI as --mpi-bind of the request says. Returns 0 with *RET_BINDING,
 * which the caller owns (berth_binding_fini), and *RET_WITNESS ({0}: none); both are
 * empty without the option. Returns -1 with a sentence in ERR when the step must not
 * run. */
int berth_binder_run(const struct berth_binder *binder,
                     struct berth_binding *ret_binding,
                     struct berth_binder_witness *ret_witness, struct berth_err *err);

/* Decide whose MPI runs if the tasks of this node each start a container of their own,
 * WHY, where nothing of the host is mounted. HOLDER is in a container like
 * theirs; 0: none. BINDING gets the note that the image's own MPI runs, if
 * --mpi-bind=auto or --container-libs=auto has chosen it. Returns 0, or -1 with a
 * sentence in ERR if that MPI must not run (plan/fallback.h: other nodes may share
 * containers). */
int berth_binder_separate(const struct berth_launch *launch, pid_t holder,
                          const char *why, struct berth_binding *binding,
                          struct berth_err *err);
