/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_BIND_FINDINGS_H
#define BERTH_BIND_FINDINGS_H

#include <stdbool.h>

#include "base/err.h"
#include "mpi/program.h"
#include "stage/look.h"
#include "bind/graft.h"

/* What berth-mpi has seen and done in a container. Borrows everything. */
struct berth_findings {
    int channel;         /* where it is told */
    const char *program; /* the file that the command is */
    const struct berth_look *look;
    const struct berth_mpi_program *wants;
    const struct berth_graft *grafts; /* that are in place */
    int count;                        /* 0: the image's own library runs */
    bool apart;                       /* each task has a container of its own */
};

/* Sends these findings, by the names of report/finding.h. The process is in the
 * container. Returns 0, or -1 with a sentence in ERR. */
int berth_findings_tell(const struct berth_findings *findings, struct berth_err *err);

#endif
