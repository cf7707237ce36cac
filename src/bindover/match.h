/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "bindover/stack.h"
#include "mpi/objects.h"
#include "mpi/program.h"
#include "mpi/verdict.h"

/* The stack whose libraries replace those of one family. */
struct berth_match {
    enum berth_mpi_family family;
    const struct berth_stack *stack;
};

enum { BERTH_MATCHES_MAX = BERTH_FAMILIES };

/* Chooses from the MPIs of STACKS, under the MODE of the request (auto counts as host),
 * the first that fits each family. For a program that is linked with MPI, that is its
 * own family. For any other program (a script, Python, a launcher) it is each family
 * of which the image has libraries, as far as the host has it. Returns the number of
 * matches in RET_MATCHES, 0 if neither program nor image uses MPI; -1 with a sentence
 * in ERR if no stack fits, or if the first that fits is absent. *RET_REASON is where
 * the cause of a refusal lies. */
int berth_match_find(const char *mode, const struct berth_mpi_program *program,
                     const struct berth_mpi_objects *image,
                     const struct berth_stacks *stacks,
                     struct berth_match ret_matches[BERTH_MATCHES_MAX],
                     enum berth_reason *ret_reason, struct berth_err *err);

/* The sentence for a STACK that other nodes may have, and this one has not. Always
 * returns -1. */
int berth_match_refuse_absent(const struct berth_stack *stack, struct berth_err *err);
