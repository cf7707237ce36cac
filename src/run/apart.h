/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "plan/binding.h"
#include "plan/launch.h"

/* Tasks that each start a container of their own. Nothing of the host is mounted there.
 * Borrows everything. */
struct berth_apart {
    const struct berth_launch *launch;
    pid_t holder;       /* in a container like theirs; 0: none */
    unsigned int tasks; /* of this node */
    const char *why;    /* they share no container */
};

/* Check that the image's own MPI may run in these containers. BINDING gets the note
 * that it does, if --mpi-bind=auto or --container-libs=auto has chosen it; each of
 * several nodes prints it, because another one may share containers. Returns 0, or -1
 * with a sentence in ERR. */
int berth_apart_settle(const struct berth_apart *apart, struct berth_binding *binding,
                       struct berth_err *err);
