/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/rules.h"
#include "site/site.h"
#include "request/request.h"

/* The facts about a task with which a node applies the policy of its site. Borrows
 * everything. */
struct berth_policy_facts {
    struct berth_rules_job job;
    char *const *environment;           /* of the task, ended by NULL */
    const struct berth_strvec *mounts;  /* of berth_mountrules_list() */
    const struct berth_strvec *sources; /* the real path of the source of each; "": it
                                           does not exist; NULL: not known */
    const struct berth_strvec *present; /* those of mounts.default whose source
                                           exists; NULL: none */
    size_t named; /* index in `mounts` of the first that the runtime mounts by name */
};

/* May SITE replace the image of the user in some job? */
bool berth_policy_may_set_image(const struct berth_site *site);

/* May SITE set --mpi-bind in some job for a user who does not? A fabric sets it, too.
 */
bool berth_policy_may_set_mpi(const struct berth_site *site);

/* May SITE make one MPI_COMM_WORLD of the tasks in some job, so that a node may refuse
 * them for their MPI? ASKED: does the user ask for that, or not to have it? */
bool berth_policy_may_join_ranks(const struct berth_site *site,
                                 enum berth_choice asked);

/* May a container last as long as its job? SAID is the user's --container-lifetime, or
 * NULL. A rule may be for other jobs. */
bool berth_policy_may_last_job(const struct berth_site *site, const char *said);

/* Checks URI (NULL: none) against images.uris of SITE, a list of beginnings of URIs.
 * The rest of the URI is empty or starts at a `/`, `:` or `@`: docker://host/a allows
 * docker://host/a:1 and not docker://host/ab. A site with images.roots and without
 * images.uris allows no URI. Returns 0, or -1 with a sentence in ERR that names the
 * place in berth.yaml. */
int berth_policy_check_uri(const struct berth_site *site, const char *uri,
                           struct berth_err *err);

/* Refuses on the host of srun what every node would refuse in REQUEST. ENVIRONMENT is
 * that of every task; NULL: not known. Returns 0, or -1 with a sentence in ERR. */
int berth_policy_check_early(const struct berth_site *site,
                             const struct berth_request *request,
                             char *const *environment, struct berth_err *err);

/* Applies the policy of SITE to REQUEST: the options of rules win over the user's, and
 * the user's over the site's defaults. A request without a container is copied. On
 * success the caller owns *RET, which starts as `{0}`. Returns 0, or -1 with a sentence
 * in ERR that says why the site does not let REQUEST run. */
int berth_policy_apply(const struct berth_site *site,
                       const struct berth_policy_facts *facts,
                       const struct berth_request *request, struct berth_request *ret,
                       struct berth_err *err);
