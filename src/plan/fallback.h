/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "mpi/verdict.h"
#include "request/request.h"

/* May the image's own MPI run if the host's MPI cannot? Each node decides without
 * knowing the decisions of other nodes, but ranks with two MPI libraries in one
 * MPI_COMM_WORLD wait for each other without end. So with more than one node, only a
 * property of the image may choose the image's own: then it is so on all nodes, and the
 * first one prints it. */

/* May other nodes or components of REQUEST, on NODES, decide otherwise than this one?
 */
bool berth_fallback_has_others(const struct berth_request *request, unsigned int nodes);

/* May it in a step of NODES? BECAUSE is the reason against the host's MPI, and REASON
 * says where that lies. Returns 0, or -1 with a sentence in ERR. */
int berth_fallback_mpi(const struct berth_request *request, unsigned int nodes,
                       enum berth_reason reason, const struct berth_err *because,
                       struct berth_err *err);

/* The same for the image's own network libraries under its own MPI, which are a choice
 * of --container-libs=auto. */
int berth_fallback_fabric(const struct berth_request *request, unsigned int nodes,
                          enum berth_reason reason, const struct berth_err *because,
                          struct berth_err *err);
