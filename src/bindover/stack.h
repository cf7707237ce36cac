/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "mpi/objects.h"
#include "mpi/profile.h"

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

/* The SONAMEs of an image that the libraries of STACK, which is not an MPI, replace;
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
