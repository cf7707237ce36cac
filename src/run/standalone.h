/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "plan/order.h"
#include "request/request.h"
#include "site/site.h"
#include "site/terms.h"

/* Does for the tasks of `berth run` what the plugin does for those of a step: they
 * become the same berth-task. In a step of srun, they meet (run/meeting.h); elsewhere
 * each process has a container for itself. */

/* The request of `berth run` or `berth explain`. Borrows everything. */
struct berth_standalone {
    const struct berth_site *site;
    const struct berth_request *asked;   /* by the user */
    const struct berth_request *request; /* what the site has made of ASKED */
    const struct berth_terms *terms;     /* the terms of the site (step/apply.h) */
    char *const *command;                /* words, ended by NULL */

    /* Set by berth_standalone_meet(): */
    struct berth_order order; /* the step, the container, and its descriptors */
    bool is_first;            /* this process prints what concerns all */
};

/* Meet the other tasks of the step, if there are any; `request` and `terms` may come
 * later. The container ends with the processes in it, also after exec. Returns 0, or -1
 * with a sentence in ERR. */
int berth_standalone_meet(struct berth_standalone *standalone, struct berth_err *err);

/* Put the order into the environment of the calling process. If an mpirun outside of a
 * step has started it, variables tell its MPI library that the other ranks are in
 * containers of their own (berth_launch_apart()). Returns 0, or -1 with a sentence in
 * ERR. */
int berth_standalone_prepare(const struct berth_standalone *standalone,
                             struct berth_err *err);

/* Become berth-task before the command. Returns only when that fails: -1 with a
 * sentence in ERR. */
int berth_standalone_become(const struct berth_standalone *standalone,
                            struct berth_err *err);
