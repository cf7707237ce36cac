/* SPDX-License-Identifier: Apache-2.0 */
/* Which variables a host's command gets that is started from a container. */

#include "plan/outside.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/text.h"
#include "request/components.h"
#include "commandline/defaults.h"
#include "commandline/srunwords.h"
#include "request/values.h"
#include "request/wire.h"

static bool is_same(const char *value, const char *variable)
{
    return value && strcmp(value, variable + strcspn(variable, "=") + 1) == 0;
}

/* Is it for programs of the image alone? */
static bool is_images(const char *variable)
{
    static const char *const starts[] = {
        "PATH=", "LD_", "GCONV_PATH=", "GLIBC_TUNABLES=", "LOCPATH=", NULL};

    return berth_text_starts_any(variable, starts);
}

/* Is it the task's own, and would mislead a step inside? Slurm's process managers, and
 * the CPUs and memory to which srun has bound this task. */
static bool is_of_task(const char *variable)
{
    static const char *const starts[] = {"PMI_",
                                         "PMI2_",
                                         "PMIX_",
                                         "PALS_",
                                         "PWD=",
                                         "SLURM_PMI",
                                         "SLURM_CPU_BIND",
                                         "SLURM_MEM_BIND",
                                         "SLURM_BERTH_",
                                         BERTH_OUTSIDE_VARIABLE "=",
                                         BERTH_OUTSIDE_PLACE "=",
                                         NULL};

    return berth_text_starts_any(variable, starts) &&
           !berth_text_starts(variable, "PMIX_MCA_");
}

/* Is it an option by environment (commandline/defaults.h)? */
static bool is_option(const char *variable)
{
    size_t length = strcspn(variable, "=");

    for (int id = 0; id < BERTH_OPTION_COUNT; id++) {
        char name[BERTH_DEFAULTS_NAME];

        berth_defaults_name((enum berth_option_id)id, name);
        if (strlen(name) == length && strncmp(name, variable, length) == 0)
            return true;
    }
    return false;
}

/* Has the program set or changed VARIABLE, its own, for a command of the host? */
static bool is_programs(const struct berth_outside *outside, const char *variable)
{
    if (is_images(variable) || is_of_task(variable) ||
        is_same(berth_environ_value(outside->container, variable), variable))
        return false;
    return !is_option(variable) ||
           !is_same(berth_environ_value(outside->task, variable), variable);
}

/* Does VARIABLE, the task's, stay as it is: the program has it as the container made
 * it, or the container has removed it? */
static bool stays(const struct berth_outside *outside, const char *variable)
{
    const char *made = berth_environ_value(outside->container, variable);
    const char *now = berth_environ_value(outside->program, variable);

    if (is_of_task(variable) || is_option(variable))
        return false;
    if (is_images(variable))
        return true;
    return made ? now && strcmp(made, now) == 0 : !now;
}

/* Has the program set or changed VARIABLE, its own, so that tasks in the same image
 * only get it over that image's: PATH and what leads its loader, and what the image has
 * set? Without it a daemon of an mpirun that was found on such a PATH is not found. */
static bool is_over_images(const struct berth_outside *outside, const char *variable)
{
    const char *was = berth_environ_value(outside->task, variable);
    const char *made = berth_environ_value(outside->container, variable);

    if (is_of_task(variable) || is_option(variable) || is_same(made, variable) ||
        berth_value_assignment(variable, NULL) < 0)
        return false;
    return is_images(variable) || (made && (!was || strcmp(was, made) != 0));
}

/* Append VARIABLE, but without this container's own end of PATH. */
static void push_over(const struct berth_outside *outside, const char *variable,
                      struct berth_strvec *ret)
{
    const char *made = berth_environ_value(outside->container, variable);
    const char *end = made ? strrchr(made, ':') : NULL;
    const char *at = end && berth_text_starts(variable, "PATH=") &&
                             berth_text_starts(end, BERTH_OUTSIDE_PATH)
                         ? strstr(variable, end)
                         : NULL;

    if (at)
        berth_strvec_pushf(ret, "%.*s%s", (int)(at - variable), variable,
                           at + strlen(end));
    else
        berth_strvec_push(ret, variable);
}

/* Is one of NAMES (ended by NULL) an option of the srun of COMMAND, with the site's
 * prefix or without? What the program behind it is told is not. */
static bool says(char *const *command, const char *const *names)
{
    struct berth_srunword option;
    char *const *at = command + 1;

    while (berth_srunwords_next(*command, &at, &option))
        for (const char *const *name = names; *name; name++)
            if (berth_srunwords_named(&option, *name))
                return true;
    return false;
}

bool berth_outside_says_image(char *const *command)
{
    static const char *const names[] = {"container-image", NULL};

    return says(command, names);
}

/* What a new step takes where its user says nothing; an mpirun of one task is not for
 * others. */
static int push_defaults(const struct berth_outside *outside, struct berth_strvec *ret,
                         struct berth_err *err)
{
    const struct berth_request *asked = outside->request;
    BERTH_TABLE struct berth_table table = {0};
    BERTH_FREE char *text = NULL;
    struct berth_request request = {0};
    bool local = berth_request_starts_mpirun(asked);

    if (berth_request_merge(&request, asked, err) < 0 ||
        berth_table_add(&table, BERTH_GROUP_ALL, NULL, &request, err) < 0)
        return -1;
    free(table.rows[0].request.workdir);
    table.rows[0].request.workdir = outside->workdir ? strdup(outside->workdir) : NULL;
    if (local) {
        free(table.rows[0].request.mpi);
        table.rows[0].request.mpi = NULL;
    }
    for (char *const *it = outside->program;
         it && *it && !berth_outside_says_image(outside->command); it++)
        if (is_over_images(outside, *it))
            push_over(outside, *it, &table.rows[0].request.env);
    if (table.rows[0].request.env.failed)
        return berth_err_oom(err);
    if (berth_wire_put_table(&table, &text, err) < 0)
        return -1;
    berth_strvec_pushf(ret, BERTH_JOB_VARIABLE "=%s", text);
    return 0;
}

/* Is COMMAND for a new step that has to share the CPUs which the outer one holds, and
 * does not say how? A new job has CPUs of its own. */
static bool is_to_share(char *const *command)
{
    static const char *const names[] = {"--exact", "--exclusive", "--overlap", NULL};

    return strcmp(*command, "srun") == 0 && !says(command, names);
}

int berth_outside_environment(const struct berth_outside *outside,
                              struct berth_strvec *ret, struct berth_err *err)
{
    static const char sharing[] = "SLURM_OVERLAP=1";

    for (char *const *it = outside->task; *it; it++)
        if (stays(outside, *it))
            berth_strvec_push(ret, *it);
    for (char *const *it = outside->program; it && *it; it++)
        if (is_programs(outside, *it))
            berth_strvec_push(ret, *it);
    if (!berth_environ_value(ret->items, sharing) && is_to_share(outside->command))
        berth_strvec_push(ret, sharing);
    if (push_defaults(outside, ret, err) < 0)
        return -1;
    return ret->failed ? berth_err_oom(err) : 0;
}
