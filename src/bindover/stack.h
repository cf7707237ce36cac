/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "mpi/objects.h"
#include "mpi/profile.h"
#include "site/profiles.h"
#include "site/terms.h"
#include "bindover/factcache.h"

struct berth_stack_library {
    enum berth_mpi_family family; /* that of the stack, or BERTH_FAMILY_ABI */
    unsigned int parts;           /* of enum berth_mpi_part */
    char *soname;
    char *path;
};

/* The MPI libraries of one install on this host, or those of a fabric (family NONE). */
struct berth_stack {
    const struct berth_profile *profile;
    char *version; /* for people: "MPICH 4.2.1"; NULL: it is absent, so that choosing it
                      is a refusal, and has none of the members below */
    char *origin;  /* what led to it: "I_MPI_ROOT", "the loader" */
    char *search;  /* LD_LIBRARY_PATH under which it was found; NULL: none */
    struct berth_stack_library *libraries; /* the first is the C library of an MPI, what
                                              is always there of a fabric */
    size_t count, room;
    struct berth_strvec sonames; /* of libraries (profile.h): those of `replaces` that
                                    the host has, which are all; empty: none, or of
                                    another */
};

struct berth_stacks {
    struct berth_stack *items; /* MPIs first, of these the preferred */
    size_t count, room;
};

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

/* The SONAMEs of an image for which the libraries of STACK, which is not an MPI, stand;
 * ended by NULL, borrowed. */
const char *const *berth_stack_replaces(const struct berth_stack *stack);

/* The SONAME by which STACK, which is not an MPI, is known: the first that the host
 * has. Borrowed. */
const char *berth_stack_first(const struct berth_stack *stack);

/* Add a copy of LIBRARY to STACK. Returns false out of memory. */
bool berth_stack_push(struct berth_stack *stack,
                      const struct berth_stack_library *library);

void berth_stack_fini(struct berth_stack *stack);
void berth_stacks_fini(struct berth_stacks *stacks);

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
