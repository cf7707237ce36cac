/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "mpi/program.h"
#include "mpi/reach.h"
#include "discover/scan.h"
#include "bind/replacement.h"

/* Which MPI may run in a container. */
struct berth_peers {
    const char *program; /* the command's file */
    const struct berth_scan *scan;
    const struct berth_mpi_program *wants;
    const struct berth_replacement *replacements; /* the host's; */
    int count;                                    /* of them; 0: the image's own run */
    char *const *task;      /* its environment on the host; ends in NULL */
    char *const *container; /* the same in the container */
    const struct berth_mpi_reach *reach;
};

/* Can the tasks of the step find and reach each other with the MPI that will run
 * (mpi/pmi.h, mpi/reach.h)? A program whose MPI is not known may use any of the bound
 * ones, or, if none was bound, any of the image's own: it may run if one of them fits.
 * *RET_ALONE names one that does not fit ("": none); if it is a bound one
 * *RET_REPLACEMENT is that, and the witness sees which rank loads it
 * (witness/witness.h).
 */
int berth_peers_check(const struct berth_peers *peers, struct berth_err *ret_alone,
                      const struct berth_replacement **ret_replacement,
                      struct berth_err *err);

/* Appends the name of each MPI that the program may use; an install that provides two
 * of them, as Open MPI 6 with the standard ABI, is named once. COUNT is not 0. */
int berth_peers_name(const struct berth_peers *peers, struct berth_buf *ret,
                     struct berth_err *err);
