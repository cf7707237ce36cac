/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "mpi/profile.h"
#include "bindover/stack.h"
#include "step/factcache.h"

/* Finds the fabrics and libraries of this host: for each of PROFILES (as
 * berth_profiles; they outlive the result) of no MPI the libraries that it names, below
 * its prefix, or where the loader finds them under the LD_LIBRARY_PATH of ENV (ends in
 * NULL); those of kind LIBRARIES first in the directories `nearby`, and only with what
 * the profile needs. A profile whose first library is missing has none here; libraries
 * that replace others are there if one of them is. CACHE
 * (NULL: none) answers for files that it knows. Returns 0 with *RET_STACKS, which the
 * caller owns (berth_stacks_fini) and which may be empty; -1 with a sentence in ERR. */
int berth_fabrics_find(struct berth_factcache *cache,
                       const struct berth_profile *profiles, char *const *env,
                       struct berth_stacks *ret_stacks, struct berth_err *err);
