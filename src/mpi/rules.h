/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "mpi/verdict.h"

/* Private to verdict.c: the inputs of a judgement, and its rules. */

/* Both sides, and what the rules have found so far. */
struct berth_mpi_cause {
    const struct berth_mpi_program *program; /* NULL: other libraries than MPI */
    const struct berth_mpi_objects *image;
    const struct berth_mpi_objects *host;
    enum berth_mpi_family family;        /* of the host's that is to be used */
    char host_name[BERTH_MPI_NAME_SIZE]; /* "MPICH 4.2.3" */
    struct berth_mpi_verdict *verdict;
    const bool *idle; /* of the host's files, see collisions.h */
};

/* Applies the rules about the program and MPI itself, in the order in which a user
 * wants to know. Returns 0 if all pass: then CAUSE has the family and the name of the
 * host's MPI. Returns -1 if a rule ends the judgement: the verdict, which starts as a
 * NO for a reason of the node, then has its answer and its sentence. */
int berth_mpi_apply_rules(struct berth_mpi_cause *cause);
