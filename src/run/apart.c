/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whose MPI runs in containers that tasks do not share. */

#include "run/apart.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/environ.h"
#include "mpi/reach.h"
#include "step/namespaces.h"

/* What to do about REQUEST where nothing of the host can be mounted; NULL: nothing. */
static const char *remedy_of(const struct berth_request *request)
{
    if (berth_request_mpi_must_host(request))
        return "choose --mpi-bind=hybrid";
    return berth_request_names_libs(request) ? "leave --container-libs out" : NULL;
}

int berth_apart_settle(const struct berth_apart *apart, struct berth_binding *binding,
                       struct berth_err *err)
{
    const struct berth_launch *launch = apart->launch;
    const struct berth_request *request = launch->request;
    const char *nodes =
        berth_environ_value(launch->environment, "SLURM_STEP_NUM_NODES");
    bool has_libs = berth_request_has_libs(request);
    struct berth_mpi_reach reach = {.apart = apart->tasks,
                                    .nodes = nodes ? (unsigned int)atoi(nodes) : 1,
                                    .shm = launch->order->is_closed};
    struct berth_err note;

    if (apart->holder)
        berth_namespaces_find_reach(apart->holder, &reach);
    if (berth_request_mpi_chosen(request) &&
        berth_mpi_check_reach(&reach, 0, "its MPI", err) < 0)
        return -1;
    if (remedy_of(request))
        return berth_err_set(err, "%s, so nothing can be mounted in its containers; %s",
                             apart->why, remedy_of(request));
    if (!berth_request_mpi_is(request, BERTH_MODE_AUTO) && !has_libs)
        return 0;
    binding->differs = reach.nodes > 1;
    berth_err_set(&note,
                  has_libs
                      ? "the image's own MPI runs, on its own network libraries: %s"
                      : "the image's own MPI runs (hybrid): %s",
                  apart->why);
    binding->note = strdup(note.text);
    return binding->note ? 0 : berth_err_oom(err);
}
