/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "bindover/fabrics.h"
#include "bindover/stack.h"
#include "mpi/objects.h"
#include "request/request.h"

/* Are the names of REQUEST those of fabrics and libraries (profile.h) among STACKS, the
 * fabrics for the MPI that it lets run, and do no two libraries stand for one of an
 * image? Returns 0, or -1 with a sentence in ERR. */
int berth_named_check(const struct berth_stacks *stacks,
                      const struct berth_request *request, struct berth_err *err);

/* Refuses the libraries of STACK, of which STAGED are the files, if they need an MPI
 * (ScaLAPACK) that is not that of the process: the host's is not in the container
 * (HAS_HOST), or the program wants another one (WANTED; NONE: not known). Returns 0, or
 * -1 with a sentence in ERR. */
int berth_named_check_mpi(const struct berth_stack *stack,
                          const struct berth_mpi_objects *staged, bool has_host,
                          enum berth_mpi_family wanted, struct berth_err *err);

/* For fabrics.c: what became of the COUNT PROGRAMS of a step in the container of
 * INSIDE. */

/* The number of the fabric of REPLACEMENT among those of INSIDE. */
size_t berth_fabrics_number(const struct berth_inside *inside,
                            const struct berth_replacement *replacement);

/* Why one of the programs cannot use the fabric of number I; NULL: all can. */
const char *berth_fabrics_refusal(struct berth_fabrics *const *programs, size_t count,
                                  size_t i);

/* Write into NOTE which fabrics or libraries are used, and of others why not; "": no
 * libraries are. */
void berth_fabrics_say(const struct berth_inside *inside,
                       struct berth_fabrics *const *programs, size_t count,
                       struct berth_err *note);
