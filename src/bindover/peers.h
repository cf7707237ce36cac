/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "mpi/program.h"
#include "mpi/reach.h"
#include "bindover/scan.h"
#include "bindover/replacement.h"

/* The MPIs that may run in a container, and the step. Borrows everything. */
struct berth_peers {
    const char *program; /* the path of its file */
    const struct berth_scan *scan;
    const struct berth_mpi_program *wants;
    const struct berth_replacement *replacements; /* by MPIs of the host */
    int count;                                    /* 0: the image's own MPI runs */
    char *const *task;      /* its environment on the host; ends in NULL */
    char *const *container; /* its environment in the container; ends in NULL */
    const struct berth_mpi_reach *reach;
};

/* Checks whether the tasks of the step can find and reach each other with the MPI that
 * will run (mpi/pmi.h, mpi/reach.h). A program whose MPI is not known may use each
 * replacement or, without any, each MPI of the image: it passes if one of these fits.
 * RET_ALONE gets a sentence about one that does not fit ("": all fit), and
 * *RET_REPLACEMENT is set to it (NULL: it is the image's own): the witness reports a
 * rank that loads it (bindover/witness.h). Returns 0, or -1 with a sentence in ERR. */
int berth_peers_check(const struct berth_peers *peers, struct berth_err *ret_alone,
                      const struct berth_replacement **ret_replacement,
                      struct berth_err *err);

/* Appends to RET which MPIs the program may use. An install that provides two of them,
 * as Open MPI 6 with the standard ABI, is named once. PEERS has replacements. Returns
 * 0, or -1 out of memory. */
int berth_peers_name(const struct berth_peers *peers, struct berth_buf *ret,
                     struct berth_err *err);
