/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* The means by which tasks reach each other, and which of them each container has for
 * itself. */
struct berth_mpi_reach {
    unsigned int separate; /* number of tasks of the node, if each has its own
                           container; 0: they share one */
    unsigned int nodes;    /* of the step */
    bool het_step; /* several components in one allocation, which Slurm's pmi2 does
                      not serve */
    bool pid;      /* process numbers */
    bool ipc;      /* System V IPC */
    bool shm;      /* /dev/shm */
    bool network;
};

/* Checks whether the tasks reach each other, and Slurm, on an MPI that supports
 * MANAGERS (mpi/pmi.h). If not, libraries would hang or end in MPI_Init, or later.
 * WHOSE is for people, as in mpi/pmi.h. Returns 0, or -1 with a sentence in ERR that
 * names the flag of the runtime to leave out. */
int berth_mpi_check_reach(const struct berth_mpi_reach *reach, unsigned int managers,
                          const char *whose, struct berth_err *err);
