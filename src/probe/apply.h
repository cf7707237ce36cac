/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "site/site.h"
#include "request/request.h"
#include "site/terms.h"

/* The job and the task that ask for a container. Borrows everything. */
struct berth_site_asker {
    const char *partition;    /* of the job; NULL: there is none */
    const char *account;      /* the same */
    char *const *environment; /* of the task, ended by NULL */
};

/* Applies SITE to REQUEST, on the host, in the directory and as the user of the task;
 * for steps, `berth run` and `berth explain`. On success the caller owns *RET, the
 * request as it is to be run, and *RET_TERMS. Returns 0, or -1 with a sentence in ERR
 * that says why it must not run. */
int berth_apply_site(const struct berth_site *site,
                     const struct berth_site_asker *asker,
                     const struct berth_request *request, struct berth_request *ret,
                     struct berth_terms *ret_terms, struct berth_err *err);
