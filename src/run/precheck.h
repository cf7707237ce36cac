/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>

#include "run/inject.h"

/* The containers of a setuid runtime cannot be entered, so each task runs on the
 * image's own MPI. This checks, in another container of the image with a user
 * namespace, whether that MPI supports the process manager. Borrows everything. */
struct berth_precheck {
    const struct berth_launch *launch;
    const char *why;      /* why the containers cannot be entered */
    unsigned int apart;   /* as in mpi/reach.h */
    const sigset_t *mask; /* as in step/temporary.h */
    unsigned int seconds; /* as in step/temporary.h */
    struct berth_deadline *deadline;
};

/* Check the image's own MPI. Returns 0 with *RET_INJECTED, which the caller owns
 * (berth_injected_fini); it has a warning if nothing could be checked, because the user
 * may have no user namespace. Returns -1 with a sentence in ERR when the step must not
 * run. */
int berth_precheck(const struct berth_precheck *precheck,
                   struct berth_injected *ret_injected, struct berth_err *err);

/* For the account of a step without --mpi-bind: returns what would go wrong with the
 * image's own MPI in the container of INJECT, a sentence that the caller frees; NULL:
 * nothing is known to go wrong. */
char *berth_precheck_own(const struct berth_inject *inject);
