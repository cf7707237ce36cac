/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>

#include "supervise/inject.h"

/* The containers of a setuid runtime cannot be entered, so each task runs on the
 * image's own MPI. This checks in another container of the image, with a user
 * namespace, whether that MPI speaks the process manager. Borrows everything. */
struct berth_precheck {
    const struct berth_launch *launch;
    const char *why;      /* why they cannot be entered */
    unsigned int apart;   /* as in mpi/reach.h */
    const sigset_t *mask; /* as in runtime/temporary.h */
    unsigned int seconds; /* as in runtime/temporary.h */
    struct berth_deadline *deadline;
};

/* Returns 0 with *RET_INJECTED, which the caller owns (berth_injected_fini): with a
 * warning if the user may have no user namespace either, and nothing can be checked.
 * Returns -1 with a sentence in ERR when the step must not run. */
int berth_precheck(const struct berth_precheck *precheck,
                   struct berth_injected *ret_injected, struct berth_err *err);

/* For an account of a step without --mpi-bind, in the container of INJECT: what its
 * image's own MPI would not do, a sentence that the caller frees. NULL: nothing is
 * known of that. */
char *berth_precheck_own(const struct berth_inject *inject);
