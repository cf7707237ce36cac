/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "plan/order.h"
#include "request/request.h"
#include "site/site.h"
#include "site/terms.h"

/* Does for one process what the plugin does for a step: the same berth-start, and a
 * container for this process alone. */

/* The request of `berth run` or `berth explain`. Borrows everything. */
struct berth_standalone {
    const struct berth_site *site;
    const struct berth_request *asked;   /* by the user */
    const struct berth_request *request; /* what the site has made of it */
    const struct berth_terms *terms;     /* and its terms (probe/apply.h) */
    struct berth_order_step step;        /* who this process is in it */
    struct berth_strvec programs;        /* as in an order */
};

/* Sets the order of berth-start in the environment of the calling process, and makes
 * the rendezvous of its container (step/rendezvous.h). The container ends with the
 * calling process, whatever that becomes. Where an mpirun has started the process, its
 * MPI library is told that the other ranks are in containers of their own
 * (berth_launch_apart()). */
int berth_standalone_prepare(const struct berth_standalone *standalone,
                             struct berth_err *err);

/* Become berth-start in front of COMMAND, words ended by NULL. Returns only when that
 * fails: -1 with a sentence in ERR. */
int berth_standalone_become(char *const *command, struct berth_err *err);

/* The rank of this process, which an mpirun, or Slurm, has started, and in *RET_TASKS
 * of how many it is one (0: not known). Nobody has: 0 of 1. */
int berth_standalone_rank(unsigned int *ret_rank, unsigned int *ret_tasks,
                          struct berth_err *err);

/* Is this the process that says for all ranks what berth has chosen? */
bool berth_standalone_leads(void);
