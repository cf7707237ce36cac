/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* A library of MPI that a task of a step without --mpi-bind has loaded. Borrows all. */
struct berth_singleton {
    int pid;            /* of the process that has mapped it */
    int holder;         /* of its container, in case the process has ended; 0: none */
    const char *path;   /* of the library, in the container */
    const char *type;   /* SLURM_MPI_TYPE; "": not set */
    unsigned int tasks; /* of the step */
    const char *node;
    const char *image; /* as the user named it */
    bool het_step;     /* as in mpi/reach.h */
    const char *mode;  /* of --mpi-bind; "": it is not given */
    bool is_several;   /* the step has several components */
};

/* Sets RET to the warning that the tasks of the step do not find each other, for the
 * reason WHY (mpi/pmi.h). The process has loaded the library, and may not use it. */
void berth_singleton_warn(const struct berth_singleton *singleton, const char *why,
                          struct berth_err *ret);

/* Prints that warning if the tasks do not find each other. ARGUMENTS are those of
 * berth-mpi after `--singleton`: the members of struct berth_singleton, in their
 * order; het_step is "het" or another text, is_several "several" or another text. */
enum { BERTH_SINGLETON_ARGUMENTS = 10 };
void berth_singleton_run(char *const *arguments);
