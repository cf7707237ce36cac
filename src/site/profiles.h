/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/reading.h"
#include "mpi/profile.h"

/* Profiles of MPI stacks as a site writes them, a file for each. A value struct: start
 * with `= {0}`, end with berth_profile_set_fini(). */
struct berth_profile_set {
    struct berth_profile *items; /* ends in one whose name is NULL; NULL: none yet */
    size_t count;
    void **owned; /* what the items point to */
    size_t owned_count;
};

/* Every key of a file, once. */
extern const struct berth_key berth_profile_keys[];

/* Read the SIZE bytes of a file that messages call FILE, and add its profile to SET.
 * Appends a sentence `FILE:LINE: KEY: ...` to FAULTS for each fault, and adds nothing
 * then. Returns 0, also with faults, or -1 out of memory. */
int berth_profile_read(const char *file, const char *bytes, size_t size,
                       struct berth_profile_set *set, struct berth_strvec *faults,
                       struct berth_err *err);

/* Add the profiles that berth has itself, but those whose name is there already. What
 * stands first is tried first. Returns 0, or -1 out of memory. */
int berth_profile_complete(struct berth_profile_set *set, struct berth_err *err);

void berth_profile_set_fini(struct berth_profile_set *set);

#define BERTH_PROFILE_SET __attribute__((cleanup(berth_profile_set_fini)))
