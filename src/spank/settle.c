/* SPDX-License-Identifier: Apache-2.0 */
/* On the node: what Slurm says of a step, for the site to decide by. */

#include "spank/settle.h"

#include "probe/settle.h"

extern char **environ;

/* What Slurm says of the job in VARIABLE; NULL: nothing. slurmstepd sets it over what a
 * user exports, but for the account of a job that has none. slurmctld cannot be asked:
 * slurmstepd holds the locks for that while it calls plugins, and would end. */
static const char *ask(spank_t sp, const char *variable, char *text, int size)
{
    return spank_getenv(sp, variable, text, size) == ESPANK_SUCCESS ? text : NULL;
}

int berth_settle_step(spank_t sp, const struct berth_site *site,
                      const struct berth_request *request, struct berth_request *ret,
                      struct berth_terms *ret_terms, struct berth_err *err)
{
    char **environment = environ;
    char partition[256], account[256];
    struct berth_settling settling = {
        .partition = ask(sp, "SLURM_JOB_PARTITION", partition, sizeof(partition)),
        .account = ask(sp, "SLURM_JOB_ACCOUNT", account, sizeof(account)),
    };

    spank_get_item(sp, S_JOB_ENV, &environment);
    settling.environment = environment;
    return berth_settle(site, &settling, request, ret, ret_terms, err);
}
