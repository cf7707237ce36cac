/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/reading.h"
#include "mpi/profile.h"

/* Profiles of MPI stacks and fabrics of a site, one in each file. A value struct: start
 * with
 * `= {0}`, end with berth_profile_set_fini(). */
struct berth_profile_set {
    struct berth_profile *items; /* ended by one without a name; NULL: no profile yet */
    size_t count;
    size_t room;
    struct {
        void **items;
        size_t count, room;
    } owned; /* the memory to which the items point */
};

/* All keys of such a file. */
extern const struct berth_key berth_profile_keys[];

/* Reads the SIZE bytes of a file, FILE in messages, and adds its profile to SET. With
 * an error it adds no profile, and appends a sentence `FILE:LINE: KEY: ...` to ERRORS
 * for each error. Returns 0, also with errors, or -1 out of memory. */
int berth_profile_read(const char *file, const char *bytes, size_t size,
                       struct berth_profile_set *set, struct berth_strvec *errors,
                       struct berth_err *err);

/* Appends the built-in profiles whose names SET does not have: berth tries profiles in
 * the order of SET. Returns 0, or -1 out of memory. */
int berth_profile_complete(struct berth_profile_set *set, struct berth_err *err);

void berth_profile_set_fini(struct berth_profile_set *set);

#define BERTH_PROFILE_SET __attribute__((cleanup(berth_profile_set_fini)))
