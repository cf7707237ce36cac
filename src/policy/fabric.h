/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "elf/closure.h"
#include "mpi/profile.h"
#include "mpi/verdict.h"
#include "request/request.h"

/* The mounts that profiles of the host's MPI want, and the conflicts that they name. */

/* What the PROFILES (as berth_profiles) that REQUEST may mean want mounted, each
 * once, the first of those at one place: appends SRC:DST:ro|rw to BINDS and patterns
 * (glob(7)) to DEVICES. With a mode that leaves the choice to berth these are all
 * profiles: the container is started before it is known which MPI the program wants. */
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
    const char *keep_glibc; /* FILE:LINE where the site forbids the host's glibc in
                               images; NULL: it is allowed */
};

/* May this MPI run, by the site's settings and its profile? Returns 0, or -1 with a
 * sentence in ERR that names the obstacle. */
int berth_fabric_check(const struct berth_fabric *fabric, struct berth_err *err);
