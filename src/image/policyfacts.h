/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "site/rules.h"
#include "site/site.h"
#include "request/request.h"
#include "site/terms.h"

/* The job and the task of a request. Borrows everything. */
struct berth_site_asker {
    struct berth_rules_job job;
    char *const *environment; /* of the task, ended by NULL */
};

/* Apply the policy of SITE to REQUEST, for steps, `berth run` and `berth explain`. Call
 * it on the host, in the directory and as the user of the task. Returns 0, and the
 * caller owns *RET, the request as it is to run, and *RET_TERMS; or -1 with a sentence
 * in ERR if the site refuses the request. */
int berth_apply_site(const struct berth_site *site,
                     const struct berth_site_asker *asker,
                     const struct berth_request *request, struct berth_request *ret,
                     struct berth_terms *ret_terms, struct berth_err *err);

/* Apply TERMS, of a request that has left out the image of a container with a name, to
 * the image that REQUEST has now. The site may have changed since the container was
 * made. Call it on the node, as the user. Returns 0, with the real path in REQUEST and
 * the identity in TERMS; or -1 with a sentence in ERR if the site refuses the image. */
int berth_apply_site_to_found(struct berth_terms *terms, struct berth_request *request,
                              struct berth_err *err);
