/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "mpi/verdict.h"
#include "discover/scan.h"
#include "discover/offered.h"

/* The MPI stacks of this host, read as far as it takes to judge whether one can stand
 * for that of an image. Nothing is staged. */
struct berth_candidates {
    struct berth_offered offered;
    struct berth_mpi_objects *objects; /* of each stack, with all that it needs */
};

/* Read them in the environment ENV (ends in NULL), as TERMS say. On success the caller
 * owns *RET (berth_candidates_fini). */
int berth_candidates_read(const struct berth_terms *terms, char *const *env,
                          struct berth_candidates *ret, struct berth_err *err);

void berth_candidates_fini(struct berth_candidates *candidates);
