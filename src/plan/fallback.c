/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether the image's own libraries may run if the host's cannot. */

#include "plan/fallback.h"

bool berth_fallback_has_others(const struct berth_request *request, unsigned int nodes)
{
    return nodes > 1 || request->world != BERTH_WORLD_ALONE;
}

enum berth_fallback berth_fallback_decide(const struct berth_request *request,
                                          unsigned int nodes, enum berth_reason reason)
{
    if (!berth_request_mpi_is(request, BERTH_MODE_AUTO))
        return BERTH_FALLBACK_NO;
    if (request->world == BERTH_WORLD_HOST)
        return BERTH_FALLBACK_OTHERS;
    return berth_fallback_has_others(request, nodes) && reason != BERTH_REASON_IMAGE
               ? BERTH_FALLBACK_NODES
               : BERTH_FALLBACK_YES;
}

enum berth_fallback berth_fallback_fabric(const struct berth_request *request,
                                          unsigned int nodes, enum berth_reason reason)
{
    return berth_fallback_has_others(request, nodes) && reason != BERTH_REASON_IMAGE
               ? BERTH_FALLBACK_FABRICS
               : BERTH_FALLBACK_YES;
}

/* Refuse what this node lacks of the host's WHAT; CHOOSE gives all nodes the image's.
 */
static int refuse_node(const struct berth_err *because, const char *what,
                       const char *choose, struct berth_err *err)
{
    return berth_err_set(err,
                         "%s; other nodes of this step may use the host's %s, and all "
                         "nodes must use the same: choose %s, which is the image's own "
                         "on all of them, or have this node repaired (berth doctor "
                         "says what it lacks)",
                         because->text, what, choose);
}

int berth_fallback_refuse(enum berth_fallback fallback, const struct berth_err *because,
                          struct berth_err *err)
{
    switch (fallback) {
    case BERTH_FALLBACK_YES:
        return 0;
    case BERTH_FALLBACK_OTHERS:
        return berth_err_set(err,
                             "%s; all ranks of one srun need the same MPI and the "
                             "same --mpi; give all --mpi-bind=hybrid if the images "
                             "have the same MPI, or else each image an srun of its own",
                             because->text);
    case BERTH_FALLBACK_NODES:
        return refuse_node(because, "MPI", "--mpi-bind=hybrid", err);
    case BERTH_FALLBACK_FABRICS:
        return refuse_node(because, "network libraries", "--container-libs=none", err);
    default:
        *err = *because;
        return -1;
    }
}
