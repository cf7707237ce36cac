/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* A library of MPI that a task of a step without --mpi-bind has loaded. */
struct berth_singleton {
    int pid;            /* that has it mapped */
    int holder;         /* of its container, for when that has ended */
    const char *path;   /* of the library, in the container */
    const char *type;   /* SLURM_MPI_TYPE; "": not set */
    unsigned int tasks; /* of the step */
    const char *node;
    const char *image; /* for people */
    bool het_step;     /* as in mpi/reach.h */
};

/* The warning: its tasks do not find each other, WHY (mpi/pmi.h). That a process has a
 * library loaded does not tell that it uses it. */
void berth_singleton_warn(const struct berth_singleton *singleton, const char *why,
                          struct berth_err *ret);

/* Prints it if they do not. WORDS are those of berth-mpi behind `--singleton`: the
 * members of struct berth_singleton, in their order. */
enum { BERTH_SINGLETON_WORDS = 8 };
void berth_singleton_run(char *const *words);
