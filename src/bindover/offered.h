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

/* Adds to STACKS, which ORDER has sorted, each of PROFILES (ended like berth_profiles)
 * of KIND that a site has written for a `prefix` in which none of them is, as an absent
 * stack (stack.h) in the place that its stack would have: other nodes may have it.
 * Returns 0, or -1 out of memory. */
int berth_offered_add_absent(const struct berth_profile *profiles,
                             enum berth_profile_kind kind,
                             const struct berth_strvec *order,
                             struct berth_stacks *stacks, struct berth_err *err);

void berth_offered_fini(struct berth_offered *offered);
