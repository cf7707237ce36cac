/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "mpi/reason.h"
#include "request/request.h"

/* May the image's own MPI run if the host's MPI cannot? Each node decides without
 * knowing the decisions of other nodes, but ranks with two MPI libraries in one
 * MPI_COMM_WORLD wait for each other without end. So with more than one node, only a
 * property of the image may choose the image's own. */
enum berth_fallback {
    BERTH_FALLBACK_NO,      /* no: the user asks for the host's MPI */
    BERTH_FALLBACK_OTHERS,  /* no: other components may run with the host's MPI */
    BERTH_FALLBACK_NODES,   /* no: other nodes may run with the host's MPI, */
    BERTH_FALLBACK_FABRICS, /* or with the host's network libraries */
    BERTH_FALLBACK_YES      /* yes, on all nodes, and the first one prints it */
};

/* May other nodes or components of REQUEST, on NODES, decide otherwise than this one?
 */
bool berth_fallback_has_others(const struct berth_request *request, unsigned int nodes);

/* Decide for a step of NODES. REASON is where the reason against the host's MPI lies.
 */
enum berth_fallback berth_fallback_decide(const struct berth_request *request,
                                          unsigned int nodes, enum berth_reason reason);

/* The same for the image's own network libraries under its own MPI, which are a choice
 * of --container-libs=auto. */
enum berth_fallback berth_fallback_fabric(const struct berth_request *request,
                                          unsigned int nodes, enum berth_reason reason);

/* Returns 0 for a FALLBACK that is a yes, or -1 with a sentence in ERR. BECAUSE is the
 * reason against the host's. */
int berth_fallback_refuse(enum berth_fallback fallback, const struct berth_err *because,
                          struct berth_err *err);
