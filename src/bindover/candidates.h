/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "mpi/verdict.h"
#include "mpi/objects.h"
#include "bindover/offered.h"

/* The MPI stacks of this host, with all facts to judge whether one can replace the MPI
 * of an image. Nothing is staged. */
struct berth_candidates {
    struct berth_offered offered;
    struct berth_mpi_objects *objects; /* for each stack: the files of its stage */
};

/* Finds and reads them in the environment ENV (ends in NULL), as TERMS say. Returns 0
 * with *RET, which the caller owns (berth_candidates_fini); -1 with a sentence in ERR.
 */
int berth_candidates_read(const struct berth_terms *terms, char *const *env,
                          struct berth_candidates *ret, struct berth_err *err);

void berth_candidates_fini(struct berth_candidates *candidates);
