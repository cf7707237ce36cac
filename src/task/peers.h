/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_TASK_PEERS_H
#define BERTH_TASK_PEERS_H

#include "base/buf.h"
#include "base/err.h"
#include "mpi/program.h"
#include "mpi/reach.h"
#include "probe/look.h"
#include "task/graft.h"

/* Which MPI may run in a container. */
struct berth_peers {
    const char *program; /* the command's file */
    const struct berth_look *look;
    const struct berth_mpi_program *wants;
    const struct berth_graft *grafts; /* the host's; */
    int count;                        /* of them; 0: the image's own run */
    char *const *task;                /* its environment on the host; ends in NULL */
    char *const *container;           /* the same in the container */
    const struct berth_mpi_reach *reach;
};

/* Can the tasks of the step find and reach each other with the MPI that will run
 * (mpi/pmi.h, mpi/reach.h)? A program of which it is not known which MPI it uses may
 * use any of the image: it may run when one fits of those that were bound, or of the
 * image's own where none was; of the others WARNING tells (text "": nothing). Returns
 * 0, or -1 with a sentence in ERR. */
int berth_peers_check(const struct berth_peers *peers, struct berth_err *ret_warning,
                      struct berth_err *err);

/* Say whose MPI runs, of each that the program may use: one install that is two of
 * them, as Open MPI 6 is with the standard ABI, is named once. COUNT is not 0. Returns
 * 0, or -1 when out of memory. */
int berth_peers_name(const struct berth_peers *peers, struct berth_buf *ret,
                     struct berth_err *err);

#endif
