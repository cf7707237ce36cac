/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "bindover/hoststacks.h"
#include "mpi/objects.h"
#include "site/profiles.h"
#include "site/terms.h"

/* The stacks that this host offers to steps, as the site wants it. */
struct berth_offered {
    struct berth_profile_set profiles;
    struct berth_stacks stacks;        /* of these profiles; the preferred first */
    struct berth_mpi_objects *objects; /* for each stack: the files that a stage would
                                          have; NULL: they were not read */
};

/* Finds the stacks of KINDS (as berth_stacks_find()) in the environment ENV (ends in
 * NULL), by the profiles and in the order of TERMS. Returns 0 with *RET, which the
 * caller owns (berth_offered_fini); -1 with a sentence in ERR, also if a profile of the
 * site is wrong. */
int berth_offered_read(const struct berth_terms *terms, unsigned int kinds,
                       char *const *env, struct berth_offered *ret,
                       struct berth_err *err);

/* Reads `objects`: all facts to judge whether a stack can replace the MPI of an image.
 * Nothing is staged. Returns 0, or -1 with a sentence in ERR. */
int berth_offered_read_files(struct berth_offered *offered, struct berth_err *err);

void berth_offered_fini(struct berth_offered *offered);

/* Moves the stacks that ORDER names, by stack or by profile, to the front, in that
 * order; the others follow as they were found. ORDER is name, FILE:LINE: KEY, name, ...
 */
void berth_offered_sort(struct berth_stacks *stacks, const struct berth_strvec *order);

/* Adds to STACKS, as they were found, each of PROFILES (ended like berth_profiles) of
 * KINDS that this node lacks and other nodes may have, as an absent stack: one that a
 * site has written for a `prefix`, in the place that its stack would have, and, as the
 * last, a network library of any other profile. Returns 0, or -1 out of memory. */
int berth_offered_add_absent(const struct berth_profile *profiles, unsigned int kinds,
                             struct berth_stacks *stacks, struct berth_err *err);
