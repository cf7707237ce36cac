/* SPDX-License-Identifier: Apache-2.0 */
/* Restores, in the environment of a task in an image, the variables that --export has
 * dropped; before the TaskProlog runs. */

#include "spank/restore.h"

#include <string.h>

#include "base/cleanup.h"
#include "request/capture.h"
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
    if (answer == ESPANK_SUCCESS)
        berth_strvec_push_pair(restored, name, list);
    return berth_err_oom_if(restored->failed, err);
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
                             BERTH_STEP_VARIABLE
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

int berth_restore(spank_t sp, const struct berth_site *site,
                  const struct berth_strvec *variables, struct berth_strvec *restored,
                  struct berth_err *err)
{
    const struct berth_capture_rules rules = berth_site_capture(site);

    if (variables->count == 0)
        return 0;
    for (size_t i = 0; i < variables->count; i++)
        if (restore_one(sp, &rules, variables->items[i], restored, err) < 0)
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
