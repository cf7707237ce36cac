/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_STAGE_PROSPECT_H
#define BERTH_STAGE_PROSPECT_H

#include "base/err.h"
#include "mpi/verdict.h"
#include "stage/look.h"
#include "stage/offered.h"

/* The MPI stacks of this host, read as far as it takes to judge whether one can stand
 * for that of an image. Nothing is staged. */
struct berth_prospects {
    struct berth_offered offered;
    struct berth_mpi_objects *objects; /* of each stack, with all that it needs */
};

/* Read them in the environment ENV (ends in NULL), as TERMS say. On success the caller
 * owns *RET (berth_prospects_fini). Returns 0, or -1 with a sentence in ERR. */
int berth_prospects_read(const struct berth_terms *terms, char *const *env,
                         struct berth_prospects *ret, struct berth_err *err);

void berth_prospects_fini(struct berth_prospects *prospects);

#endif
