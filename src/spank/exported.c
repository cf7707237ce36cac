/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the variables of srun's environment that the nodes restore. */

#include "spank/exported.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slurm/spank.h>

#include "base/cleanup.h"
#include "request/capture.h"

extern char **environ;

/* Does the environment have all variables that name the user? */
static bool has_identity(void)
{
    static const char *const names[] = {"HOME", "USER", "LOGNAME", "SHELL"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!getenv(names[i]))
            return false;
    return true;
}

/* Add the variables that name the user, if the environment lacks one of them, as in a
 * script under --export=NIL. */
static void add_identity(struct berth_strvec *list)
{
    const struct passwd *user;

    if (has_identity())
        return;
    user = getpwuid(getuid());
    if (!user)
        return;
    berth_strvec_pushf(list, "HOME=%s", user->pw_dir);
    berth_strvec_pushf(list, "USER=%s", user->pw_name);
    berth_strvec_pushf(list, "LOGNAME=%s", user->pw_name);
    berth_strvec_pushf(list, "SHELL=%s", user->pw_shell);
}

int berth_exported_gather(const struct berth_site *site,
                          const struct berth_export *export, struct berth_strvec *ret,
                          struct berth_err *err)
{
    const struct berth_capture_rules rules = berth_site_capture(site);
    BERTH_STRVEC struct berth_strvec identity = {0};
    struct berth_strvec nothing = {0};

    if (export->all)
        return 0;
    add_identity(&identity);
    if (identity.failed)
        return berth_err_oom(err);
    if (berth_capture_choose(&rules, environ, &export->assigned, ret, err) < 0)
        return -1;
    if (identity.count == 0)
        return 0;
    return berth_capture_choose(&rules, identity.items, &nothing, ret, err);
}

static void log_restored(const struct berth_capture_rules *rules, int group,
                         const char *item)
{
    BERTH_FREE char *name = strndup(item, strcspn(item, "="));
    const struct berth_capture_list *list = NULL;

    if (name)
        list = berth_capture_find(rules, name);
    if (list)
        slurm_verbose("berth: component %d: %s is restored (%s; %s)", group, name,
                      list->title, list->source);
}

static void log_row(const struct berth_capture_rules *rules, int group,
                    const struct berth_row *row)
{
    for (size_t i = 0; i < row->restore.count; i++)
        log_restored(rules, group, row->restore.items[i]);
}

void berth_exported_log(const struct berth_site *site, const struct berth_table *table)
{
    const struct berth_capture_rules rules = berth_site_capture(site);

    if (berth_table_is_multiprog(table)) {
        /* All lines have the same. */
        const struct berth_row *row = berth_table_find_container(table);

        if (row)
            log_row(&rules, 0, row);
        return;
    }
    for (size_t i = 0; i < table->count; i++)
        log_row(&rules, table->rows[i].group, &table->rows[i]);
}
