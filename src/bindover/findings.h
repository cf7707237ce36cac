/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/strvec.h"
#include "mpi/program.h"
#include "bindover/scan.h"
#include "bindover/fabrics.h"
#include "bindover/replacement.h"

/* What berth-mpi has found and mounted in a container. Borrows everything. */
struct berth_findings {
    const char *program; /* the file that the command is */
    const struct berth_scan *scan;
    const struct berth_mpi_program *wants;
    const struct berth_replacement *replacements; /* that are in place */
    int count;                                    /* 0: the image's own library runs */
    const struct berth_fabrics *fabrics[2]; /* of the host, under that, and its other
                                               libraries; NULL: none */
};

/* Appends these findings to FACTS: name (plan/finding.h), text, ... The process is in
 * the container. Out of memory sticks in FACTS. */
void berth_findings_list(const struct berth_findings *findings,
                         struct berth_strvec *facts);
