/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the environment of a command of the host that a program in a container
 * starts. */

#include "inside/hostenv.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/text.h"
#include "request/bundle.h"
#include "request/components.h"
#include "request/defaults.h"
#include "request/arguments.h"
#include "request/values.h"
#include "request/wire.h"
#include "container/become.h"
#include "plan/pytorch.h"

/* Is VALUE (NULL: unset) that of VARIABLE, NAME=VALUE? So are variables below. */
static bool is_same(const char *value, const char *variable)
{
    return value && strcmp(value, variable + strcspn(variable, "=") + 1) == 0;
}

/* Does VARIABLE apply to programs of the image only? */
static bool is_of_image(const char *variable)
{
    static const char *const starts[] = {
        "PATH=", "LD_", "GCONV_PATH=", "GLIBC_TUNABLES=", "LOCPATH=", NULL};

    return berth_text_starts_any(variable, starts);
}

/* Does VARIABLE apply to the task only, and mislead a new step? Those of Slurm's
 * process managers do, and the CPUs and memory to which srun has bound the task. */
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

/* Is VARIABLE an option by environment (request/defaults.h)? */
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

/* Does the command get VARIABLE of the program, which has set or changed it? */
static bool is_of_program(const struct berth_hostenv *outside, const char *variable)
{
    if (is_of_image(variable) || is_of_task(variable))
        return false;
    if (outside->pytorch &&
        berth_pytorch_is_own(outside->program, outside->pytorch, variable))
        return false; /* the rank of this task, for example */
    if (is_same(berth_environ_value(outside->container, variable), variable))
        return false;
    if (is_option(variable))
        return !is_same(berth_environ_value(outside->task, variable), variable);
    return true;
}

/* Does the command get VARIABLE of the task? Yes if the program has not changed what
 * the container made of it, and if the container has removed it. */
static bool is_kept(const struct berth_hostenv *outside, const char *variable)
{
    const char *made = berth_environ_value(outside->container, variable);
    const char *now = berth_environ_value(outside->program, variable);

    if (is_of_task(variable) || is_option(variable))
        return false;
    if (is_of_image(variable))
        return true;
    if (!made)
        return !now;
    return now && strcmp(made, now) == 0;
}

/* Has the program set or changed VARIABLE where the image's value would win in a new
 * step in the same image? So for PATH, the variables of the loader, and those that the
 * image sets. Without them, the daemons of an mpirun on such a PATH are not found. */
static bool is_over_image(const struct berth_hostenv *outside, const char *variable)
{
    const char *was = berth_environ_value(outside->task, variable);
    const char *made = berth_environ_value(outside->container, variable);
    bool image_sets = made && (!was || strcmp(was, made) != 0);

    if (is_of_task(variable) || is_option(variable) || is_same(made, variable))
        return false;
    if (berth_value_assignment(variable, NULL) < 0)
        return false;
    return is_of_image(variable) || image_sets;
}

/* The directory of commands of this container, which berth has appended to its PATH,
 * with the colon before it; NULL: the container has no commands. */
static const char *find_commands(const struct berth_hostenv *outside)
{
    const char *path = berth_environ_value(outside->container, "PATH");
    const char *last = NULL;

    if (path)
        last = strrchr(path, ':');
    if (last && berth_text_starts(last, BERTH_OUTSIDE_PATH))
        return last;
    return NULL;
}

/* Append VARIABLE; PATH without the directory of commands of this container. */
static void push_over(const struct berth_hostenv *outside, const char *variable,
                      struct berth_strvec *ret)
{
    const char *commands = find_commands(outside);
    const char *at = NULL;

    if (commands && berth_text_starts(variable, "PATH="))
        at = strstr(variable, commands);
    if (!at) {
        berth_strvec_push(ret, variable);
        return;
    }
    berth_strvec_pushf(ret, "%.*s%s", (int)(at - variable), variable,
                       at + strlen(commands));
}

bool berth_hostenv_has_image(char *const *command)
{
    struct berth_arguments arguments = berth_arguments_begin(command, NULL);
    struct berth_argument argument;

    while (berth_arguments_next(&arguments, &argument))
        if (berth_argument_is_ours(&argument, BERTH_OPTION_IMAGE))
            return true;
    return false;
}

/* Fill RET with the defaults of a new step: the options of the step that the program is
 * in; for a batch script those of its job, which has a row for each component, if there
 * are any. */
static int find_defaults(const struct berth_hostenv *outside, struct berth_table *ret,
                         struct berth_err *err)
{
    const char *job = berth_environ_value(outside->task, BERTH_JOB_VARIABLE);
    BERTH_REQUEST struct berth_request request = {0};

    if (outside->is_script && job)
        return berth_wire_get_table(job, ret, err);
    if (berth_request_merge(&request, outside->request, err) < 0)
        return -1;
    return berth_table_add(ret, BERTH_GROUP_ALL, NULL, &request, err);
}

/* Change REQUEST, of the defaults, to what the program has made of it: its working
 * directory and variables. An mpirun of --mpi-bind=local is one for one task. */
static int change_defaults(const struct berth_hostenv *outside,
                           struct berth_request *request, struct berth_err *err)
{
    free(berth_steal(&request->workdir));
    if (outside->workdir) {
        request->workdir = strdup(outside->workdir);
        if (!request->workdir)
            return berth_err_oom(err);
    }
    if (berth_request_starts_mpirun(request))
        free(berth_steal(&request->mpi));

    /* With an image of its own, the new step has that image's variables. */
    if (outside->program && !berth_hostenv_has_image(outside->command))
        for (char *const *it = outside->program; *it; it++)
            if (is_over_image(outside, *it))
                push_over(outside, *it, &request->env);
    return berth_err_oom_if(request->env.failed, err);
}

/* A batch script that Slurm's own --container has put into an image: its steps run in
 * that image, too. srun reads another variable than the one that tasks get. */
static void push_container(const struct berth_hostenv *outside,
                           struct berth_strvec *ret)
{
    const char *image = berth_environ_value(outside->task, BERTH_BUNDLE_VARIABLE);
    const bool is_srun = strcmp(*outside->command, "srun") == 0;

    if (!outside->is_script || !image || !is_srun)
        return;
    if (!berth_environ_value(ret->items, BERTH_BUNDLE_SRUN))
        berth_strvec_pushf(ret, BERTH_BUNDLE_SRUN "=%s", image);
}

/* Append the variables with the defaults of a new step. With components that differ
 * those of the plugin have the image of each. */
static int push_defaults(const struct berth_hostenv *outside, struct berth_strvec *ret,
                         struct berth_err *err)
{
    BERTH_TABLE struct berth_table table = {0};
    BERTH_FREE char *text = NULL;

    if (find_defaults(outside, &table, err) < 0)
        return -1;
    if (berth_table_is_uniform(&table))
        push_container(outside, ret);
    for (size_t i = 0; i < table.count; i++)
        if (change_defaults(outside, &table.rows[i].request, err) < 0)
            return -1;
    if (berth_wire_put_table(&table, &text, err) < 0)
        return -1;
    berth_strvec_pushf(ret, BERTH_JOB_VARIABLE "=%s", text);
    return 0;
}

/* Does COMMAND start a step without an option about sharing the CPUs that the outer
 * step has? A new job has its own CPUs. */
static bool shares_cpus(char *const *command)
{
    static const char *const sharing[] = {"exact", "exclusive", "overlap"};
    struct berth_arguments arguments = berth_arguments_begin(command, NULL);
    struct berth_argument argument;

    if (strcmp(*command, "srun") != 0)
        return false;
    while (berth_arguments_next(&arguments, &argument))
        for (size_t i = 0; i < sizeof(sharing) / sizeof(sharing[0]); i++)
            if (berth_argument_is(&argument, sharing[i]))
                return false;
    return true;
}

int berth_hostenv_environment(const struct berth_hostenv *outside,
                              struct berth_strvec *ret, struct berth_err *err)
{
    static const char sharing[] = "SLURM_OVERLAP=1";

    for (char *const *it = outside->task; *it; it++)
        if (is_kept(outside, *it))
            berth_strvec_push(ret, *it);
    for (char *const *it = outside->program; it && *it; it++)
        if (is_of_program(outside, *it))
            berth_strvec_push(ret, *it);
    /* a batch script has the CPUs of its job for its steps */
    if (!outside->is_script && !berth_environ_value(ret->items, sharing) &&
        shares_cpus(outside->command))
        berth_strvec_push(ret, sharing);
    if (push_defaults(outside, ret, err) < 0)
        return -1;
    return berth_err_oom_if(ret->failed, err);
}
