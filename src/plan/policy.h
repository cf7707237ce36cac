/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_PLAN_POLICY_H
#define BERTH_PLAN_POLICY_H

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "conf/site.h"
#include "plan/request.h"

/* What is known of a step where its policy is decided: on the node. Borrows everything.
 */
struct berth_policy_facts {
    const char *partition;              /* as Slurm says it; NULL: not told */
    const char *account;                /* the same */
    char *const *environment;           /* of the task, ended by NULL */
    const struct berth_strvec *mounts;  /* of berth_mountrules_list() */
    const struct berth_strvec *sources; /* the real path of the source of each of these;
                                           "": there is none; NULL: not looked at */
    const struct berth_strvec *present; /* those of mounts.default whose source is
                                           there; NULL: none */
    size_t named; /* of mounts, those from here on are made by name */
};

/* Is what SITE says about options and mounts such that it can be done? Returns 0, or -1
 * with a sentence in ERR that names the key. */
int berth_policy_check(const struct berth_site *site, struct berth_err *err);

/* May SITE give a component a --mpi-bind that its user has not said? */
bool berth_policy_says_mpi(const struct berth_site *site);

/* Would REQUEST be refused on every node, whatever is found there? For the host where
 * the command is typed. ENVIRONMENT is what every task will have; NULL: not known.
 * Returns 0, or -1 with a sentence in ERR. */
int berth_policy_refuse(const struct berth_site *site,
                        const struct berth_request *request, char *const *environment,
                        struct berth_err *err);

/* REQUEST as it is to be run: what the site forces over what the user says over the
 * site's defaults. A request without a
 * container is not changed. On success the caller owns *RET. Returns 0, or -1 with a
 * sentence in ERR that says why it must not run. */
int berth_policy_apply(const struct berth_site *site,
                       const struct berth_policy_facts *facts,
                       const struct berth_request *request, struct berth_request *ret,
                       struct berth_err *err);

#endif
