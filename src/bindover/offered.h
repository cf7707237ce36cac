/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "site/profiles.h"
#include "site/terms.h"
#include "bindover/stack.h"

/* The MPI stacks and fabrics that this host offers to steps, as the site wants it. */
struct berth_offered {
    struct berth_profile_set profiles;
    struct berth_stacks stacks; /* of these profiles; the preferred first */
    struct berth_stacks fabrics;
};

/* Finds the stacks and fabrics in the environment ENV (ends in NULL), by the profiles
 * and in the order of TERMS. Returns 0 with *RET, which the caller owns
 * (berth_offered_fini); -1 with a sentence in ERR, also if a profile of the site is
 * wrong. */
int berth_offered_read(const struct berth_terms *terms, char *const *env,
                       struct berth_offered *ret, struct berth_err *err);

/* Moves the stacks that ORDER names, by stack or by profile, to the front, in that
 * order; the others follow as they were found. ORDER is name, FILE:LINE: KEY, name, ...
 */
void berth_offered_sort(struct berth_stacks *stacks, const struct berth_strvec *order);

/* Has a site written PROFILE for a `prefix` in which none of STACKS is? Other nodes may
 * have it. */
bool berth_offered_is_missing(const struct berth_profile *profile,
                              const struct berth_stacks *stacks);

/* Returns the number of the first of STACKS, sorted by ORDER, before which a stack in
 * the prefix of PROFILE would be; their count: it would be the last. All profiles are
 * of one array. */
size_t berth_offered_place(const struct berth_profile *profile,
                           const struct berth_stacks *stacks,
                           const struct berth_strvec *order);

void berth_offered_fini(struct berth_offered *offered);
