/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether --mpi-bind=auto may use the image's own MPI. */

#include "plan/fallback.h"

enum berth_fallback berth_fallback_decide(const struct berth_request *request,
                                          unsigned int nodes, enum berth_reason reason)
{
    static const enum berth_fallback of_several[] = {
        [BERTH_REASON_NODE] = BERTH_FALLBACK_NODES,
        [BERTH_REASON_HOST] = BERTH_FALLBACK_EACH_SAYS,
        [BERTH_REASON_IMAGE] = BERTH_FALLBACK_YES,
    };

    if (!berth_request_mpi_is(request, BERTH_MODE_AUTO))
        return BERTH_FALLBACK_NO;
    if (request->world == BERTH_WORLD_HOST)
        return BERTH_FALLBACK_OTHERS;
    return nodes > 1 ? of_several[reason] : BERTH_FALLBACK_YES;
}

int berth_fallback_refuse(enum berth_fallback fallback, const struct berth_err *because,
                          struct berth_err *err)
{
    switch (fallback) {
    case BERTH_FALLBACK_OTHERS:
        return berth_err_set(err,
                             "%s; all ranks of one srun need the same MPI and the "
                             "same --mpi; give all --mpi-bind=hybrid if the images "
                             "have the same MPI, or else each image an srun of its own",
                             because->text);
    case BERTH_FALLBACK_NODES:
        return berth_err_set(err,
                             "%s; other nodes of this step may use the host's MPI, so "
                             "this one must use it, too: repair it (berth doctor says "
                             "what it lacks), or use the image's own on all nodes with "
                             "--mpi-bind=hybrid",
                             because->text);
    default:
        *err = *because;
        return -1;
    }
}
