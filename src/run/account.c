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
#include "job/ask.h"
#include "plan/envdiff.h"
#include "site/flags.h"
#include "site/mountrules.h"
#include "step/become.h"
#include "step/image.h"
#include "step/runtime.h"
#include "request/mount.h"

extern char **environ;

/* Add the files of NAME, a variable with the list VALUE of libraries that the runtime
 * mounts. */
static void add_libraries(const char *name, const char *value, struct berth_plan *plan)
{
    BERTH_STRVEC struct berth_strvec files = {0};

    berth_strvec_split(&files, value);
    for (size_t i = 0; i < files.count; i++) {
        BERTH_FREE char *place = NULL;

        if (!*files.items[i])
            continue;
        if (asprintf(&place, "/.singularity.d/libs/%s",
                     berth_text_base(files.items[i])) < 0)
            plan->failed = true;
        else
            berth_plan_mount(plan, files.items[i], place, BERTH_MOUNT_RO,
                             BERTH_FROM_USER, name);
    }
    plan->failed |= files.failed;
}

/* Add what the runtime mounts by a variable of the task. */
static int add_variables(const struct berth_launch *launch, struct berth_plan *plan,
                         struct berth_err *err)
{
    static const char libraries[] = "CONTAINLIBS=";

    for (char *const *item = launch->environment; *item; item++) {
        const char *flag = berth_flags_variable(*item);
        BERTH_FREE char *name = strndup(*item, strcspn(*item, "="));
        char *environment[] = {*item, NULL};
        BERTH_STRVEC struct berth_strvec mounts = {0};
        const struct berth_mountrules_task task = {.environment = environment,
                                                   .directory = launch->directory};

        if (!name)
            return berth_err_oom(err);
        if (flag && berth_text_starts(flag, libraries))
            add_libraries(name, flag + strlen(libraries), plan);
        if (berth_mountrules_variables(&task, &mounts, err) < 0 ||
            berth_plan_mounts(plan, &mounts, BERTH_FROM_USER, name, err) < 0)
            return -1;
    }
    return 0;
}

static int list_words(const struct berth_launch *given, struct berth_explain *explain,
                      struct berth_err *err)
{
    struct berth_launch launch = *given;

    if (explain->apart)
        return berth_launch_own_argv(&launch, &explain->words, err);
    launch.is_outer = explain->binding.is_outer;
    return berth_launch_holder_argv(&launch, "berth-init", -1, -1, -1, &explain->words,
                                    err);
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

/* As a task does when it joins: apply the difference that the runtime made to the
 * environment of the task that started it; in a container of its own, of this task. */
static int list_image_environment(const struct berth_rendezvous *rendezvous,
                                  struct berth_explain *explain, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec result = {0};
    BERTH_BUF struct berth_buf own = {0};
    BERTH_BUF struct berth_buf after = {0};
    const char *before;
    size_t count;

    if (explain->binding.before.count == 0)
        return 0;
    berth_envdiff_flatten(explain->binding.before.items, &after);
    berth_envdiff_flatten(environ, &own);
    if (after.failed || own.failed)
        return berth_err_oom(err);
    before = rendezvous->page->text + rendezvous->page->before.at;
    count = rendezvous->page->before.count;
    if (explain->apart) {
        before = own.text;
        count = own.used;
    }
    if (berth_envdiff_apply(before, count, after.text, after.used, environ, &result,
                            err) < 0)
        return -1;
    berth_plan_change(&explain->plan, environ, result.items, BERTH_FROM_RUNTIME,
                      "the container runtime sets it in every image");
    berth_plan_change(&explain->plan, environ, result.items, BERTH_FROM_IMAGE,
                      "the image's environment, as the runtime sets it");
    return 0;
}

static int list_environment(const struct berth_launch *launch,
                            const struct berth_rendezvous *rendezvous,
                            struct berth_explain *explain, struct berth_err *err)
{
    const bool is_launch = berth_request_mpi_is(launch->request, BERTH_MODE_LAUNCH);
    struct berth_plan *plan = &explain->plan;
    BERTH_STRVEC struct berth_strvec apart = {0};

    list_restored(launch, explain);
    if (berth_request_starts_mpirun(launch->request))
        berth_plan_change(plan, launch->environment, environ, BERTH_FROM_BERTH,
                          is_launch ? "the mpirun sees the job, and not the "
                                      "step of one task (--mpi-bind=launch)"
                                    : "hidden, so that an mpirun in the task "
                                      "starts ranks without Slurm "
                                      "(--mpi-bind=local)");
    if (list_image_environment(rendezvous, explain, err) < 0)
        return -1;
    berth_plan_set(plan, &explain->binding.set, BERTH_FROM_MPI,
                   "the MPI that runs needs it (--mpi-bind)");
    if (explain->apart && !berth_request_mpi_is(launch->request, BERTH_MODE_OFF))
        berth_launch_apart(launch->environment, &apart);
    berth_plan_set(plan, &apart, BERTH_FROM_BERTH,
                   "a task in a container of its own cannot read the memory of others");
    berth_launch_variables(launch->request, launch->terms, launch->environment, plan);
    return apart.failed || plan->failed ? berth_err_oom(err) : 0;
}

/* List the directories that people look for, as they are on the host. */
static void list_places(const struct berth_launch *launch,
                        struct berth_explain_place *places)
{
    const struct berth_explain_place all[BERTH_EXPLAIN_PLACES] = {
        {.what = "home", .path = launch->home},
        {.what = "working directory", .path = launch->directory},
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

static int collect(const struct berth_launch *launch,
                   const struct berth_rendezvous *rendezvous,
                   struct berth_explain *explain, struct berth_err *err)
{
    if (rendezvous &&
        berth_rendezvous_get_binding(rendezvous, &explain->binding, err) < 0)
        return -1;
    explain->environment = launch->environment;
    explain->runtime = launch->runtime;
    explain->gpu = launch->gpu.flag;
    explain->gpu_because = launch->gpu.because;
    explain->runtime_version = berth_runtime_version(launch->runtime);
    explain->inside = berth_order_inside(launch->order);
    explain->why_step = berth_order_why_step(launch->order, explain->apart);
    if (!explain->why_step && berth_request_has_job_lifetime(launch->request) &&
        berth_job_check(launch, &explain->no_server) < 0)
        explain->why_step = explain->no_server.text;
    explain->manager = berth_environ_value(launch->environment, "SLURM_MPI_TYPE");
    list_places(launch, explain->places);
    if (berth_image_describe(launch->request->image, &explain->image, err) < 0 ||
        add_variables(launch, &explain->plan, err) < 0 ||
        berth_launch_mounts(launch, &explain->binding.binds, &explain->plan, err) < 0 ||
        list_words(launch, explain, err) < 0)
        return -1;
    return list_environment(launch, rendezvous, explain, err);
}

int berth_account_collect(struct berth_task *task,
                          const struct berth_rendezvous *rendezvous, const char *apart,
                          struct berth_err *err)
{
    const struct berth_request *request = &task->order.request;
    struct berth_explain *ret = &task->account;
    bool has_container = berth_request_has_container(request);

    if (has_container && berth_prepare(task, err) < 0)
        return -1;
    *ret = (struct berth_explain){.step = task->order.step,
                                  .rank = berth_environ_value(environ, "SLURM_PROCID"),
                                  .node = task->node,
                                  .request = request,
                                  .command = task->command,
                                  .apart = apart};
    return has_container ? collect(&task->launch, rendezvous, ret, err) : 0;
}

void berth_account_look(struct berth_explain *explain)
{
    for (int i = 0; i < BERTH_EXPLAIN_PLACES; i++) {
        struct berth_explain_place *place = &explain->places[i];
        struct stat status;

        if (!place->path)
            continue;
        if (stat(place->path, &status) < 0)
            place->in = "absent";
        else
            place->in = status.st_dev == place->device && status.st_ino == place->inode
                            ? "host"
                            : "container";
    }
    if (explain->command[0])
        explain->found = berth_become_find(explain->command[0]);
}

int berth_account_print(const struct berth_explain *explain, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};

    if (berth_explain_write(explain, &text, err) < 0)
        return -1;
    if (berth_fd_write(STDOUT_FILENO, text.text, text.used) == 0)
        return 0;
    return berth_err_file(err, "standard output", "written");
}
