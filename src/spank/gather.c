/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the variables of srun's environment that the nodes restore. */

#include "spank/gather.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slurm/spank.h>

#include "base/cleanup.h"
#include "request/capture.h"
#include "request/launcher.h"
#include "request/wire.h"
#include "spank/variable.h"

extern char **environ;

/* Add the variables that name the user, if the environment lacks one of them, as in a
 * script under --export=NIL. */
static void add_identity(struct berth_strvec *list)
{
    const struct passwd *user;

    if (getenv("HOME") && getenv("USER") && getenv("LOGNAME") && getenv("SHELL"))
        return;
    user = getpwuid(getuid());
    if (!user)
        return;
    berth_strvec_pushf(list, "HOME=%s", user->pw_dir);
    berth_strvec_pushf(list, "USER=%s", user->pw_name);
    berth_strvec_pushf(list, "LOGNAME=%s", user->pw_name);
    berth_strvec_pushf(list, "SHELL=%s", user->pw_shell);
}

static int gather(const struct berth_site *site, const struct berth_strvec *assigned,
                  struct berth_strvec *ret, struct berth_err *err)
{
    const struct berth_capture_rules rules = berth_site_capture(site);
    BERTH_STRVEC struct berth_strvec identity = {0};
    struct berth_strvec nothing = {0};

    add_identity(&identity);
    if (identity.failed)
        return berth_err_oom(err);
    if (berth_capture_choose(&rules, environ, assigned, ret, err) < 0)
        return -1;
    return identity.count
               ? berth_capture_choose(&rules, identity.items, &nothing, ret, err)
               : 0;
}

int berth_gather_component(const struct berth_site *site,
                           const struct berth_row *component,
                           const struct berth_export *export, struct berth_table *table,
                           struct berth_err *err)
{
    BERTH_REQUEST struct berth_request row = {0};

    if (berth_request_has_container(&component->request) && !export->all &&
        gather(site, &export->assigned, &row.env, err) < 0)
        return -1;
    if (berth_table_add(table, component->group, NULL, &row, err) < 0)
        return -1;
    row = (struct berth_request){0};
    return 0;
}

static bool is_empty(const struct berth_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].request.env.count)
            return false;
    return true;
}

static int publish(const char *variable, const struct berth_table *table,
                   struct berth_err *err)
{
    BERTH_FREE char *text = NULL;

    if (!is_empty(table) && berth_wire_put_environment(table, &text, err) < 0)
        return -1;
    return berth_variable_publish(variable, text, err);
}

int berth_gather_publish(const struct berth_table *table, struct berth_err *err)
{
    return publish(BERTH_ENV_VARIABLE, table, err);
}

int berth_gather_allocation(const struct berth_table *table, struct berth_err *err)
{
    BERTH_REQUEST struct berth_request job = {0};
    BERTH_TABLE struct berth_table sent = {0};

    for (size_t i = 0; i < table->count && job.env.count == 0; i++)
        berth_launcher_job(&table->rows[i].request, environ, &job.env);
    if (berth_table_add(&sent, BERTH_GROUP_ALL, NULL, &job, err) < 0)
        return -1;
    job = (struct berth_request){0};
    return publish(BERTH_ALLOCATION_VARIABLE, &sent, err);
}

static void log_restored(const struct berth_capture_rules *rules, int group,
                         const char *item)
{
    BERTH_FREE char *name = strndup(item, strcspn(item, "="));
    const struct berth_capture_list *list;

    list = name ? berth_capture_find(rules, name) : NULL;
    if (list)
        slurm_verbose("berth: component %d: %s is restored (%s; %s)", group, name,
                      list->title, list->source);
}

void berth_gather_log(const struct berth_site *site, const struct berth_table *table)
{
    const struct berth_capture_rules rules = berth_site_capture(site);

    for (size_t i = 0; i < table->count; i++)
        for (size_t k = 0; k < table->rows[i].request.env.count; k++)
            log_restored(&rules, table->rows[i].group,
                         table->rows[i].request.env.items[k]);
}
