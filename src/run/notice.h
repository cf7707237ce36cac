/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "plan/order.h"
#include "step/servers.h"
#include "step/rendezvous.h"

/* The facts for the lines that berth prints when the containers of a node's tasks run.
 * Borrows everything. */
struct berth_notice {
    const char *node;
    const struct berth_order *order;
    char *const *environment;                  /* of the task, as Slurm has made it */
    const char *runtime;                       /* the site's; NULL: find one */
    const struct berth_rendezvous *rendezvous; /* NULL: there is none */
    const struct berth_binding
        *binding; /* the answer of --mpi-bind; empty where there is none */
    const char
        *apart; /* why each task has a container of its own; NULL: tasks share one */
};

/* The line that ranks of a node do not read each other's memory. */
#define BERTH_NOTICE_NO_CMA                                                            \
    "note: image '%s': MPI copies each message within this node twice, which is "      \
    "slower (CMA is off): %s"

/* The line about an image that the runtime has unpacked. */
#define BERTH_NOTICE_UNPACKED                                                          \
    "warning: " BERTH_SERVERS_UNPACKED                                                 \
    "which takes time at each start, and room in /tmp" BERTH_SERVERS_REPAIR

/* Print on standard error what berth has chosen for the component, and with srun -v the
 * number of containers on this node. The rendezvous must not be NULL. */
void berth_notice_print(const struct berth_notice *notice);

/* Was the srun of this environment started with -v? */
bool berth_notice_is_verbose(char *const *environment);

/* Append the record of the component (run/record.h). If that fails, srun -v prints
 * why. */
void berth_notice_record(const struct berth_notice *notice);
