/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "site/profiles.h"
#include "site/terms.h"
#include "discover/stack.h"

/* The MPI stacks and fabrics that this host offers to steps, by what the site says of
 * them. */
struct berth_offered {
    struct berth_profile_set profiles;
    struct berth_stacks stacks; /* of these; the preferred first */
    struct berth_stacks fabrics;
};

/* Find them in the environment ENV (ends in NULL), by the profiles and in the order of
 * TERMS. On success the caller owns *RET (berth_offered_fini). Returns 0, or -1 with a
 * sentence in ERR: also when a profile of the site's is not right. */
int berth_offered_read(const struct berth_terms *terms, char *const *env,
                       struct berth_offered *ret, struct berth_err *err);

/* Sorts the stacks whose stack or profile ORDER (name, FILE:LINE: KEY, ...) names to
 * the front, in that order; the others stay as they were found. */
void berth_offered_sort(struct berth_stacks *stacks, const struct berth_strvec *order);

void berth_offered_fini(struct berth_offered *offered);
