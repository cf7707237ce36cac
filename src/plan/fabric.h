/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_PLAN_FABRIC_H
#define BERTH_PLAN_FABRIC_H

#include "base/err.h"
#include "base/strvec.h"
#include "elf/closure.h"
#include "mpi/profile.h"
#include "mpi/verdict.h"
#include "plan/request.h"

/* What the profiles of the host's MPI say of the world around it. */

/* What the PROFILES (as berth_profiles()) that REQUEST may mean want mounted, each
 * once, the first of those at one place: appends SRC:DST:ro|rw to BINDS and patterns
 * (glob(7)) to DEVICES. With a mode that leaves the choice to berth these are all
 * profiles: the container is started before it is known which MPI the program wants.
 * Returns 0, or -1 with a sentence in ERR. */
int berth_fabric_list(const struct berth_profile *profiles,
                      const struct berth_request *request, struct berth_strvec *binds,
                      struct berth_strvec *devices, struct berth_err *err);

/* An MPI of the host that could run in a program. Borrows everything. */
struct berth_fabric {
    const struct berth_profile *profile;
    const char *version;                     /* for people */
    const struct berth_mpi_verdict *verdict; /* what its libraries say */
    const struct berth_closure *closure;     /* of the program */
    char *const *env;                        /* of the program, ends in NULL */
    const char *keep_glibc; /* where the site lets the host's into no image, FILE:LINE;
                               NULL: it may go there */
};

/* May it, by what the site and its profile say? Returns 0, or -1 with a sentence in ERR
 * that names what is in its way. */
int berth_fabric_check(const struct berth_fabric *fabric, struct berth_err *err);

#endif
