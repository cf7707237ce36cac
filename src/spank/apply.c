/* SPDX-License-Identifier: Apache-2.0 */
/* On the node: applies the site's policy to a request, with the facts that Slurm gives
 * about the job. */

#include "spank/apply.h"

#include <stdint.h>

#include "site/rules.h"
#include "step/apply.h"
#include "request/spell.h"
#include "plan/order.h"
#include "step/report.h"

extern char **environ;

/* The value of VARIABLE, in TEXT of SIZE bytes; NULL: it is not set. slurmstepd sets
 * the variables of a job over what a user exports, except the account of a job that has
 * no account. A plugin cannot ask slurmctld: slurmstepd holds the locks which that
 * needs while it calls plugins, and would end. */
static const char *read_variable(spank_t sp, const char *variable, char *text, int size)
{
    return spank_getenv(sp, variable, text, size) == ESPANK_SUCCESS ? text : NULL;
}

int berth_apply_site_step(spank_t sp, const struct berth_site *site,
                          const struct berth_request *request,
                          struct berth_request *ret, struct berth_terms *ret_terms,
                          struct berth_err *err)
{
    char **environment = environ;
    char partition[256], account[256];
    struct berth_site_asker asker = {
        .partition =
            read_variable(sp, "SLURM_JOB_PARTITION", partition, sizeof(partition)),
        .account = read_variable(sp, "SLURM_JOB_ACCOUNT", account, sizeof(account)),
    };

    spank_get_item(sp, S_JOB_ENV, &environment);
    asker.environment = environment;
    return berth_apply_site(site, &asker, request, ret, ret_terms, err);
}

void berth_apply_site_report(spank_t sp, const struct berth_site *site,
                             const struct berth_request *request, const char *prefix)
{
    BERTH_STRVEC struct berth_strvec sentences = {0};
    char partition[256], account[256], node[256];
    const struct berth_rules_job job = {
        read_variable(sp, "SLURM_JOB_PARTITION", partition, sizeof(partition)),
        read_variable(sp, "SLURM_JOB_ACCOUNT", account, sizeof(account))};

    if (!berth_request_has_container(request) ||
        !read_variable(sp, BERTH_TASK_NODE, node, sizeof(node)))
        return;
    berth_rules_report(site, &job, request, &sentences);
    for (size_t i = 0; i < sentences.count; i++) {
        struct berth_err note;

        berth_err_set(&note, "note: %s", sentences.items[i]);
        berth_spell_options(prefix, &note);
        berth_report(-1, node, &note);
    }
}
