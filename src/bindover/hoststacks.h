/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "bindover/factcache.h"
#include "bindover/stack.h"

/* All kinds of profiles, a bit 1 << enum berth_profile_kind for each. */
enum { BERTH_KINDS_ALL = 7 };

/* Finds the stacks of this host of KINDS, by PROFILES (as berth_profiles; they outlive
 * the result), in the environment ENV (ends in NULL); MPIs come first. What CACHE
 * (NULL: none) has is taken from there.
 *
 * MPIs, each of the first profile that fits: where profiles have a prefix; where
 * CRAY_MPICH_DIR, I_MPI_ROOT, MPICH_DIR, MPI_HOME and OPAL_PREFIX point; then what the
 * loader finds by itself under LD_LIBRARY_PATH. What cannot be read, or is of no known
 * family, is passed over.
 *
 * For each other profile the libraries that it names, below its prefix, or where the
 * loader finds them; those of kind LIBRARIES first in the directories `nearby`, and
 * only with what the profile needs. A profile whose first library is missing has none
 * here; libraries that replace others are there if one of them is.
 *
 * Returns 0 with *RET_STACKS, which the caller owns (berth_stacks_fini) and which may
 * be empty; -1 with a sentence in ERR. */
int berth_stacks_find(struct berth_factcache *cache,
                      const struct berth_profile *profiles, unsigned int kinds,
                      char *const *env, struct berth_stacks *ret_stacks,
                      struct berth_err *err);
