/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "mpi/verdict.h"

/* Private to verdict.c: the inputs of a judgement, and its rules. */

#define BERTH_RULES_HYBRID "choose --mpi-bind=hybrid"

/* Both sides, and what the rules have found so far. */
struct berth_mpi_cause {
    const struct berth_mpi_program *program;
    const struct berth_mpi_objects *image;
    const struct berth_mpi_objects *host;
    enum berth_mpi_family family;        /* of the host's that is to be used */
    char host_name[BERTH_MPI_NAME_SIZE]; /* "MPICH 4.2.3" */
    struct berth_mpi_verdict *verdict;
    struct berth_err *because; /* the verdict's */
    const bool *idle;          /* of the host's files, see collisions.h */
    const char *advice;        /* the end of the sentence of a NO: "; ...", or "" */
};

enum berth_mpi_outcome {
    BERTH_RULE_PASS,
    BERTH_RULE_END, /* the verdict has its answer and its sentence */
};

/* Sets the answer of the verdict, which has its sentence. Returns BERTH_RULE_END. */
enum berth_mpi_outcome berth_mpi_end(struct berth_mpi_cause *cause,
                                     enum berth_mpi_answer answer);

/* Applies the rules about the program and MPI itself, in the order in which a user
 * wants to know. Returns BERTH_RULE_PASS if all pass: then CAUSE has the family and the
 * name of the host's MPI. */
enum berth_mpi_outcome berth_mpi_apply_rules(struct berth_mpi_cause *cause);
