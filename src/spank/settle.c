/* SPDX-License-Identifier: Apache-2.0 */
/* On the node: the facts by which a site decides about a step, and the decision. */

#include "spank/settle.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "plan/mountrules.h"
#include "plan/policy.h"
#include "probe/allowed.h"

extern char **environ;

/* What Slurm says of the job in VARIABLE; NULL: nothing. slurmstepd sets it over what a
 * user exports, but for the account of a job that has none. slurmctld cannot be asked:
 * slurmstepd holds the locks for that while it calls plugins, and would end. */
static const char *ask(spank_t sp, const char *variable, char *text, int size)
{
    return spank_getenv(sp, variable, text, size) == ESPANK_SUCCESS ? text : NULL;
}

static const char *home_of(char *const *environment)
{
    const struct passwd *user;

    for (; environment && *environment; environment++)
        if (strncmp(*environment, "HOME=", 5) == 0)
            return *environment + 5;
    user = getpwuid(getuid());
    return user ? user->pw_dir : NULL;
}

/* An image from a registry lies in the user's own directory: the site says by its URI
 * whether it may run. */
static int settle_image(const struct berth_site *site, struct berth_request *request,
                        struct berth_terms *terms, struct berth_err *err)
{
    char *path;

    if (!berth_request_contained(request) || !berth_allowed_is_asked(site) ||
        (request->uri && site->images.uris_said))
        return 0;
    if (berth_allowed_image(site, request->image, &path, &terms->image, err) < 0)
        return -1;
    free(request->image);
    request->image = path;
    return 0;
}

static int apply(const struct berth_site *site, struct berth_policy_facts *facts,
                 const struct berth_mountrules_task *task,
                 const struct berth_request *request, struct berth_request *ret,
                 struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec mounts = {0};
    BERTH_STRVEC struct berth_strvec sources = {0};
    BERTH_STRVEC struct berth_strvec present = {0};
    bool is_restricted = site->mounts.forbidden.count || site->mounts.forced.count;

    if (is_restricted && (berth_mountrules_list(request, task, &mounts, err) < 0 ||
                          berth_allowed_sources(&mounts, &sources, err) < 0))
        return -1;
    if (berth_allowed_present(&site->mounts.defaults, &present, err) < 0)
        return -1;
    facts->mounts = &mounts;
    facts->sources = &sources;
    facts->present = &present;
    return berth_policy_apply(site, facts, request, ret, err);
}

int berth_settle(spank_t sp, const struct berth_site *site,
                 const struct berth_request *request, struct berth_request *ret,
                 struct berth_terms *ret_terms, struct berth_err *err)
{
    BERTH_REQUEST struct berth_request settled = {0};
    BERTH_TERMS struct berth_terms terms = {0};
    BERTH_FREE char *directory = getcwd(NULL, 0);
    char **environment = environ;
    char partition[256], account[256];
    struct berth_policy_facts facts = {
        .partition = ask(sp, "SLURM_JOB_PARTITION", partition, sizeof(partition)),
        .account = ask(sp, "SLURM_JOB_ACCOUNT", account, sizeof(account)),
    };
    struct berth_mountrules_task task = {.directory = directory};

    spank_get_item(sp, S_JOB_ENV, &environment);
    facts.environment = task.environment = environment;
    task.home = home_of(environment);
    if (apply(site, &facts, &task, request, &settled, err) < 0 ||
        berth_terms_of(site, &terms, err) < 0 ||
        settle_image(site, &settled, &terms, err) < 0)
        return -1;
    *ret = settled;
    *ret_terms = terms;
    settled = (struct berth_request){0};
    terms = (struct berth_terms){0};
    return 0;
}
