/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "elf/closure.h"
#include "mpi/profile.h"
#include "mpi/verdict.h"
#include "request/request.h"

/* The mounts that profiles of the host's MPI and fabrics need, and their conflicts. */

/* Does --container-libs name PROFILE? */
bool berth_fabric_is_named(const struct berth_profile *profile,
                           const struct berth_request *request);

/* May REQUEST use PROFILE? */
bool berth_fabric_may_use(const struct berth_profile *profile,
                          const struct berth_request *request);

/* Appends the mounts of all PROFILES (ended like berth_profiles) that REQUEST may use:
 * SRC:DST:ro|rw|sqsh to BINDS, the first for each destination, and patterns (glob(7))
 * to DEVICES. If the mode leaves the choice to berth, REQUEST may use all profiles: the
 * container starts before berth knows which MPI the program needs. Returns -1 out of
 * memory, or with a sentence in ERR that names the profile of a wrong mount. */
int berth_fabric_list(const struct berth_profile *profiles,
                      const struct berth_request *request, struct berth_strvec *binds,
                      struct berth_strvec *devices, struct berth_err *err);

/* Libraries of the host that may replace those of a program. Borrows everything. */
struct berth_fabric {
    const struct berth_profile *profile;
    const char *version;                     /* for messages */
    const struct berth_mpi_verdict *verdict; /* by its libraries */
    const struct berth_closure *closure;     /* of the program */
    char *const *env;                        /* of the program, ends in NULL */
    const char *keep_glibc; /* FILE:LINE where the site forbids the host's glibc in
                               images; NULL: the site allows it */
};

/* Checks them against the site's settings and, an MPI, the conflicts of its profile.
 * Returns 0, or -1 with a sentence in ERR. */
int berth_fabric_check(const struct berth_fabric *fabric, struct berth_err *err);
