/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "plan/order.h"
#include "request/request.h"
#include "site/site.h"
#include "site/terms.h"

/* Does for one process what the plugin does for a step: starts the same berth-start,
 * with a container for this process alone. */

/* The request of `berth run` or `berth explain`. Borrows everything. */
struct berth_standalone {
    const struct berth_site *site;
    const struct berth_request *asked;   /* by the user */
    const struct berth_request *request; /* what the site has made of ASKED */
    const struct berth_terms *terms;     /* the terms of the site (step/apply.h) */
};

/* Put the order for berth-start into the environment of the calling process, and make
 * the rendezvous of its container (step/rendezvous.h). The container ends with the
 * calling process, also after exec. If an mpirun has started the process, variables
 * tell its MPI library that the other ranks are in containers of their own
 * (berth_launch_apart()). Returns 0, or -1 with a sentence in ERR. */
int berth_standalone_prepare(const struct berth_standalone *standalone,
                             struct berth_err *err);

/* Become berth-start before COMMAND, words ended by NULL. Returns only when that
 * fails: -1 with a sentence in ERR. */
int berth_standalone_become(char *const *command, struct berth_err *err);

/* Is this the process that prints for all ranks what berth has chosen? */
bool berth_standalone_is_first(void);
