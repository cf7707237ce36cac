/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/site.h"
#include "request/request.h"

/* The facts about a task for the site's policy, which the node decides. Borrows
 * everything. */
struct berth_policy_facts {
    const char *partition;              /* of the job; NULL: not known */
    const char *account;                /* the same */
    char *const *environment;           /* of the task, ended by NULL */
    const struct berth_strvec *mounts;  /* of berth_mountrules_list() */
    const struct berth_strvec *sources; /* the real path of the source of each of these;
                                           "": there is none; NULL: not looked at */
    const struct berth_strvec *present; /* those of mounts.default whose source is
                                           there; NULL: none */
    size_t named; /* of mounts, those from here on are made by name */
};

/* Append to FAULTS a sentence, which names the key, for each option and mount of SITE
 * that cannot be. Ask for its `failed`. */
void berth_policy_faults(const struct berth_site *site, struct berth_strvec *faults);

/* The first of these. Returns 0, or -1 with the sentence in ERR. */
int berth_policy_check(const struct berth_site *site, struct berth_err *err);

/* Can SITE put another image in the place of the user's? */
bool berth_policy_may_set_image(const struct berth_site *site);

/* Can SITE set --mpi-bind for a component whose user has not given it? */
bool berth_policy_may_set_mpi(const struct berth_site *site);

/* Can SITE require a fabric of the host? */
bool berth_policy_may_require_fabric(const struct berth_site *site);

/* Can a container live as long as its job, where the user SAID that of
 * --container-lifetime (NULL: nothing)? A rule may be for other jobs. */
bool berth_policy_may_last_job(const struct berth_site *site, const char *said);

/* On the host where the command is typed: checks what every node would refuse in
 * REQUEST. ENVIRONMENT is what every task will have; NULL: not known. */
int berth_policy_check_early(const struct berth_site *site,
                             const struct berth_request *request,
                             char *const *environment, struct berth_err *err);

/* Makes the request that is to be run: the site's forced options win over the user's,
 * and these over the site's defaults. A request without a container is not changed. On
 * success the caller owns *RET. Returns 0, or -1 with a sentence in ERR that says why
 * it must not run. */
int berth_policy_apply(const struct berth_site *site,
                       const struct berth_policy_facts *facts,
                       const struct berth_request *request, struct berth_request *ret,
                       struct berth_err *err);
