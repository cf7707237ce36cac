/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether the image's own libraries may run if the host's cannot. */

#include "plan/fallback.h"

bool berth_fallback_has_others(const struct berth_request *request, unsigned int nodes)
{
    return nodes > 1 || request->world != BERTH_WORLD_ALONE;
}

/* Refuse what this node may lack of the host's WHAT; CHOOSE gives all nodes the
 * image's. */
static int check_node(const struct berth_request *request, unsigned int nodes,
                      enum berth_reason reason, const struct berth_err *because,
                      const char *what, const char *choose, struct berth_err *err)
{
    if (!berth_fallback_has_others(request, nodes) || reason == BERTH_REASON_IMAGE)
        return 0;
    return berth_err_set(err,
                         "%s; all nodes need the same %s: choose %s, the image's own, "
                         "or have this node repaired",
                         because->text, what, choose);
}

int berth_fallback_mpi(const struct berth_request *request, unsigned int nodes,
                       enum berth_reason reason, const struct berth_err *because,
                       struct berth_err *err)
{
    if (!berth_request_mpi_is(request, BERTH_MODE_AUTO))
        return berth_err_set(err, "%s", because->text);
    if (request->world == BERTH_WORLD_HOST)
        return berth_err_set(err,
                             "%s; all ranks of one srun need the same MPI and the "
                             "same --mpi; give all --mpi-bind=hybrid if the images "
                             "have the same MPI, or else each image an srun of its own",
                             because->text);
    return check_node(request, nodes, reason, because, "MPI", "--mpi-bind=hybrid", err);
}

int berth_fallback_fabric(const struct berth_request *request, unsigned int nodes,
                          enum berth_reason reason, const struct berth_err *because,
                          struct berth_err *err)
{
    return check_node(request, nodes, reason, because, "network libraries",
                      "--container-libs=none", err);
}
