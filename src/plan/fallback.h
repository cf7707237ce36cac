/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "mpi/reason.h"
#include "request/request.h"

/* May the image's own MPI run where the host's cannot? Each node decides for itself and
 * does not know the decision of another one, but two MPI libraries in one
 * MPI_COMM_WORLD wait for each other for ever. */
enum berth_fallback {
    BERTH_FALLBACK_NO,        /* the user wants the host's or nothing */
    BERTH_FALLBACK_OTHERS,    /* no: other components may run on the host's */
    BERTH_FALLBACK_NODES,     /* no: other nodes may run on the host's */
    BERTH_FALLBACK_EACH_SAYS, /* yes, and each node says so, because other nodes may
                                 decide otherwise */
    BERTH_FALLBACK_YES        /* yes, on all nodes: one of them says so */
};

/* NODES of the step; the reason against the host's lies in REASON. */
enum berth_fallback berth_fallback_decide(const struct berth_request *request,
                                          unsigned int nodes, enum berth_reason reason);

/* The refusal for a FALLBACK that is a no; BECAUSE is the reason against the host's
 * MPI. Returns -1 with the sentence in ERR. */
int berth_fallback_refuse(enum berth_fallback fallback, const struct berth_err *because,
                          struct berth_err *err);
