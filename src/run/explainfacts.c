/* SPDX-License-Identifier: Apache-2.0 */
/* Collects what is known of a launch, for --container-explain. */

#include "run/task.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/text.h"
#include "job/client.h"
#include "plan/envdiff.h"
#include "plan/pytorch.h"
#include "site/flags.h"
#include "site/mountrules.h"
#include "container/become.h"
#include "image/image.h"
#include "container/runtime.h"

extern char **environ;

/* Add FILE, one of the libraries that the runtime mounts by the variable NAME. */
static void add_library(const char *name, const char *file, struct berth_plan *plan)
{
    BERTH_FREE char *place = NULL;

    if (asprintf(&place, "/.singularity.d/libs/%s", berth_text_base(file)) < 0)
        plan->failed = true;
    else
        berth_plan_mount(plan, file, place, BERTH_MOUNT_RO, BERTH_FROM_USER, name);
}

/* Add what the runtime mounts by a variable of the task. */
static int add_variables(const struct berth_launch *launch, struct berth_plan *plan,
                         struct berth_err *err)
{
    for (char *const *item = launch->environment; *item; item++) {
        BERTH_FREE char *name = strndup(*item, strcspn(*item, "="));
        char *environment[] = {*item, NULL};
        BERTH_STRVEC struct berth_strvec mounts = {0};
        BERTH_STRVEC struct berth_strvec libraries = {0};
        const char *flag = berth_flags_variable(*item);
        const struct berth_mountrules_task task = {.environment = environment,
                                                   .directory = launch->directory};

        if (!name)
            return berth_err_oom(err);
        if (flag && berth_text_starts(flag, "CONTAINLIBS="))
            berth_strvec_split(&libraries, strchr(flag, '=') + 1);
        for (size_t i = 0; i < libraries.count; i++)
            if (*libraries.items[i])
                add_library(name, libraries.items[i], plan);
        plan->failed |= libraries.failed;
        if (berth_mountrules_variables(&task, &mounts, err) < 0 ||
            berth_plan_mounts(plan, &mounts, BERTH_FROM_USER, name, err) < 0)
            return -1;
    }
    return 0;
}

static int list_words(struct berth_explain *explain, struct berth_err *err)
{
    if (explain->separate)
        return berth_launch_own_argv(explain->launch, &explain->words, err);
    return berth_launch_holder_argv(explain->launch, "berth-init", -1, -1, -1,
                                    &explain->words, err);
}

/* List the variables that --export drops and berth restores. */
static void list_restored(const struct berth_launch *launch,
                          struct berth_explain *explain)
{
    const struct berth_strvec *restored = &launch->order->restored;

    for (size_t i = 0; i + 1 < restored->count; i += 2) {
        const char *name = restored->items[i];
        BERTH_FREE char *why = NULL;

        if (asprintf(&why, "--export drops it, and berth restores it (list: %s)",
                     restored->items[i + 1]) < 0) {
            explain->plan.failed = true;
            return;
        }
        berth_plan_variable(&explain->plan, name, berth_environ_value(environ, name),
                            BERTH_FROM_CAPTURE, why);
    }
}

/* Does CHANGES set or remove the variable of ITEM, NAME=VALUE? */
static bool has_variable(const struct berth_strvec *changes, const char *item)
{
    const size_t length = strcspn(item, "=");

    for (size_t i = 0; i < changes->count; i++) {
        const char *change = changes->items[i];

        if (strcspn(change, "=") == length && strncmp(change, item, length) == 0)
            return true;
    }
    return false;
}

/* Append to RET the environment of this process with CHANGES of the runtime. */
static void list_changed(const struct berth_strvec *changes, struct berth_strvec *ret)
{
    for (size_t i = 0; i < changes->count; i++)
        if (strchr(changes->items[i], '='))
            berth_strvec_push(ret, changes->items[i]);
    for (char *const *item = environ; *item; item++)
        if (!has_variable(changes, *item))
            berth_strvec_push(ret, *item);
}

/* List what a PyTorch image gets. */
static void list_pytorch(struct berth_explain *explain)
{
    const struct berth_strvec *list = &explain->launch->order->terms.pytorch;
    BERTH_STRVEC struct berth_strvec changed = {0};

    /* the runtime starts the command of such a task: berth does not see the image's
     * variables */
    if (explain->separate)
        return;
    list_changed(&explain->binding->changes, &changed);
    explain->plan.failed |= changed.failed;
    if (changed.items)
        berth_pytorch_variables(changed.items, list, &explain->plan);
}

static int list_environment(struct berth_explain *explain, struct berth_err *err)
{
    const struct berth_launch *launch = explain->launch;
    const char *why_hidden = "hidden, so that an mpirun in the task starts ranks "
                             "without Slurm (--mpi-bind=local)";
    struct berth_plan *plan = &explain->plan;
    BERTH_STRVEC struct berth_strvec hidden = {0};
    BERTH_STRVEC struct berth_strvec variables = {0};

    if (berth_request_mpi_is(launch->request, BERTH_MODE_LAUNCH))
        why_hidden = "the mpirun sees the job, and not the step of one task "
                     "(--mpi-bind=launch)";
    list_restored(launch, explain);
    berth_envdiff(launch->environment, environ, &hidden);
    berth_plan_set(plan, &hidden, BERTH_FROM_BERTH, why_hidden);
    berth_plan_set(plan, &explain->binding->changes, BERTH_FROM_RUNTIME,
                   "the container runtime sets it in every image");
    berth_plan_set(plan, &explain->binding->changes, BERTH_FROM_IMAGE,
                   "the image's environment, as the runtime sets it");
    berth_plan_set(plan, &explain->binding->set, BERTH_FROM_MPI,
                   "the MPI that runs needs it (--mpi-bind)");
    if (explain->separate && !berth_request_mpi_is(launch->request, BERTH_MODE_OFF))
        berth_launch_separate(launch->environment, &variables);
    berth_plan_set(plan, &variables, BERTH_FROM_BERTH,
                   "a task in a container of its own cannot read the memory of others");
    list_pytorch(explain);
    berth_launch_variables(launch->request, &launch->order->terms, launch->environment,
                           plan);
    return berth_err_oom_if(plan->failed, err);
}

/* The place of the working directory of srun in list_places(). */
enum { WORKING = 1 };

/* List the directories that people look for, as they are on the host. */
static void list_places(const struct berth_launch *launch,
                        struct berth_explain_place *places)
{
    const char *temporary = berth_environ_value(launch->environment, "TMPDIR");
    const struct berth_explain_place all[BERTH_EXPLAIN_PLACES] = {
        {.what = "home", .path = launch->home},
        [WORKING] = {.what = "working directory", .path = launch->directory},
        {.what = "TMPDIR", .path = temporary},
        {.path = "/tmp"},
        {.path = "/scratch"},
    };

    for (int i = 0; i < BERTH_EXPLAIN_PLACES; i++) {
        struct stat status;

        if (!all[i].path || stat(all[i].path, &status) < 0)
            continue;
        places[i] = all[i];
        places[i].device = status.st_dev;
        places[i].inode = status.st_ino;
    }
}

static int collect(struct berth_explain *explain, struct berth_err *err)
{
    const struct berth_launch *launch = explain->launch;

    explain->runtime_version = berth_runtime_version(launch->runtime);
    if (berth_request_has_job_lifetime(launch->request) &&
        !berth_explain_why_step(explain))
        berth_job_check(launch, &explain->no_server);
    list_places(launch, explain->places);
    if (berth_image_describe(launch->request->image, &explain->image, err) < 0)
        return -1;
    /* of two mounts on one place, the later one counts */
    if (add_variables(launch, &explain->plan, err) < 0 ||
        berth_launch_mounts(launch, &explain->binding->binds, &explain->plan, err) < 0)
        return -1;
    if (list_words(explain, err) < 0)
        return -1;
    return list_environment(explain, err);
}

int berth_explainfacts_collect(struct berth_task *task, const char *separate,
                               struct berth_explain *ret, struct berth_err *err)
{
    const bool has_container = berth_request_has_container(&task->order.request);

    if (has_container && berth_prepare(task, err) < 0)
        return -1;
    task->launch.is_outer = task->binding.is_outer;
    task->launch.overlay = task->binding.overlay;
    *ret = (struct berth_explain){.launch = &task->launch,
                                  .binding = &task->binding,
                                  .rank = berth_environ_value(environ, "SLURM_PROCID"),
                                  .separate = separate};
    if (!has_container)
        return 0;
    return collect(ret, err);
}

/* Is the file with STATUS the PLACE of the host? */
static bool is_place(const struct stat *status, const struct berth_explain_place *place)
{
    return status->st_dev == place->device && status->st_ino == place->inode;
}

/* The directory of this process, where the command would start, if it is not WORKING,
 * that of srun; NULL: it is. */
static char *find_start(const struct berth_explain_place *working)
{
    struct stat status;

    if (stat(".", &status) == 0 && is_place(&status, working))
        return NULL;
    return getcwd(NULL, 0);
}

void berth_explainfacts_look(struct berth_explain *explain)
{
    explain->starts_in = find_start(&explain->places[WORKING]);
    for (int i = 0; i < BERTH_EXPLAIN_PLACES; i++) {
        struct berth_explain_place *place = &explain->places[i];
        struct stat status;

        if (!place->path)
            continue;
        if (stat(place->path, &status) < 0)
            place->in = "absent";
        else if (is_place(&status, place))
            place->in = "host";
        else
            place->in = "container";
    }
    if (explain->launch->command[0])
        explain->found = berth_become_find(explain->launch->command[0]);
}

int berth_explainfacts_print(const struct berth_explain *explain, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};

    if (berth_explain_write(explain, &text, err) < 0)
        return -1;
    if (berth_fd_write(STDOUT_FILENO, text.text, text.used) == 0)
        return 0;
    return berth_err_file(err, "standard output", "written");
}
