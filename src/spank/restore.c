/* SPDX-License-Identifier: Apache-2.0 */
/* Restores, in the environment of a task in an image, the variables that --export has
 * dropped; before the TaskProlog runs. */

#include "spank/restore.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "request/capture.h"
#include "request/wire.h"
#include "spank/variable.h"

/* Slurm sets it in steps with --pty. */
#define PTY_VARIABLE "SLURM_PTY_PORT"

/* Set NAME to VALUE if the task does not have it; then append NAME and LIST, the title
 * of its list, to RESTORED. */
static int set_missing(spank_t sp, const char *name, const char *value,
                       const char *list, struct berth_strvec *restored,
                       struct berth_err *err)
{
    spank_err_t answer = spank_setenv(sp, name, value, 0);

    if (answer != ESPANK_SUCCESS && answer != ESPANK_ENV_EXISTS)
        return berth_err_set(err, BERTH_VARIABLE_UNANSWERED, name);
    if (answer == ESPANK_SUCCESS) {
        berth_strvec_push(restored, name);
        berth_strvec_push(restored, list);
    }
    return restored->failed ? berth_err_oom(err) : 0;
}

/* Restore ITEM, NAME=VALUE. TERM is for tasks with a terminal only. */
static int restore_one(spank_t sp, const struct berth_capture_rules *rules,
                       const char *item, struct berth_strvec *restored,
                       struct berth_err *err)
{
    const struct berth_capture_list *list;
    const char *equals = strchr(item, '=');
    BERTH_FREE char *name = strndup(item, (size_t)(equals - item));

    if (!name)
        return berth_err_oom(err);
    list = berth_capture_find(rules, name);
    if (!list)
        return berth_err_set(err,
                             BERTH_ENV_VARIABLE
                             ": '%s' is not a variable that this node restores; have "
                             "the same berth.yaml on all hosts",
                             name);
    if (strcmp(name, "TERM") == 0 && !berth_variable_is_set(sp, PTY_VARIABLE))
        return 0;
    return set_missing(sp, name, equals + 1, list->title, restored, err);
}

/* Set NAME to the user's name from Slurm, if srun ran on a host that did not know it.
 */
static int restore_name(spank_t sp, const struct berth_capture_rules *rules,
                        const char *name, struct berth_strvec *restored,
                        struct berth_err *err)
{
    const struct berth_capture_list *list = berth_capture_find(rules, name);
    char user[256];

    if (!list ||
        spank_getenv(sp, "SLURM_JOB_USER", user, sizeof(user)) != ESPANK_SUCCESS)
        return 0;
    return set_missing(sp, name, user, list->title, restored, err);
}

static int restore_row(spank_t sp, const struct berth_site *site,
                       const struct berth_strvec *env, struct berth_strvec *restored,
                       struct berth_err *err)
{
    const struct berth_capture_rules rules = berth_site_capture(site);

    if (env->count == 0)
        return 0;
    for (size_t i = 0; i < env->count; i++)
        if (restore_one(sp, &rules, env->items[i], restored, err) < 0)
            return -1;
    if (restore_name(sp, &rules, "USER", restored, err) < 0 ||
        restore_name(sp, &rules, "LOGNAME", restored, err) < 0)
        return -1;
    return 1;
}

int berth_restore_tmpdir(spank_t sp, struct berth_strvec *restored,
                         struct berth_err *err)
{
    return set_missing(sp, "TMPDIR", "/tmp", "Slurm's default", restored, err);
}

/* Read the table that srun sent in VARIABLE, and remove VARIABLE; *RET stays empty if
 * srun sent none. */
static int read_environment(spank_t sp, const char *variable, struct berth_table *ret,
                            struct berth_err *err)
{
    BERTH_FREE char *text = NULL;

    if (berth_variable_remove(sp, variable, &text, err) < 0)
        return -1;
    if (!text)
        return 0;
    if (berth_wire_get_environment(text, ret, err) < 0)
        return berth_err_at(err, "%s", variable);
    return 0;
}

/* Does TABLE have a row for each component? No if its only row is for all components,
 * or if the step has --multi-prog, and so one component. */
static bool is_split(const struct berth_table *table)
{
    return !berth_table_is_multiprog(table) &&
           (table->count != 1 || table->rows[0].group != BERTH_GROUP_ALL);
}

int berth_restore(spank_t sp, const struct berth_site *site,
                  const struct berth_table *step, const struct berth_where *where,
                  struct berth_strvec *restored, struct berth_err *err)
{
    BERTH_TABLE struct berth_table sent = {0};
    const struct berth_row *row = NULL;

    if (read_environment(sp, BERTH_ENV_VARIABLE, &sent, err) < 0)
        return -1;
    if (sent.count == 0)
        return 0;
    if (is_split(&sent) && is_split(step) && sent.count != step->count)
        return berth_err_damaged(err, BERTH_ENV_VARIABLE);
    if (berth_table_find(&sent, where, 0, &row, err) < 0)
        return berth_err_at(err, BERTH_ENV_VARIABLE);
    return restore_row(sp, site, &row->request.env, restored, err);
}

int berth_restore_allocation(spank_t sp, struct berth_strvec *ret,
                             struct berth_err *err)
{
    BERTH_TABLE struct berth_table sent = {0};

    if (read_environment(sp, BERTH_ALLOCATION_VARIABLE, &sent, err) < 0)
        return -1;
    if (sent.count > 0)
        berth_strvec_append(ret, &sent.rows[0].request.env);
    return ret->failed ? berth_err_oom(err) : 0;
}

void berth_restore_remove_outer(spank_t sp)
{
    static const char *const names[] = {
        "APPTAINER_BIND",      "SINGULARITY_BIND",      "APPTAINER_NAME",
        "SINGULARITY_NAME",    "APPTAINER_ENVIRONMENT", "SINGULARITY_ENVIRONMENT",
        "APPTAINER_APPNAME",   "SINGULARITY_APPNAME",   "APPTAINER_COMMAND",
        "SINGULARITY_COMMAND", BERTH_OUTER_APPTAINER,   BERTH_OUTER_SINGULARITY,
    };

    if (!berth_variable_is_set(sp, BERTH_OUTER_APPTAINER) &&
        !berth_variable_is_set(sp, BERTH_OUTER_SINGULARITY))
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        spank_unsetenv(sp, names[i]);
}
