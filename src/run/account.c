/* SPDX-License-Identifier: Apache-2.0 */
/* Collects what is known of a launch, for --container-explain. */

#include "run/account.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "job/ask.h"
#include "plan/envdiff.h"
#include "site/mountrules.h"
#include "step/become.h"
#include "step/image.h"
#include "step/runtime.h"
#include "request/mount.h"
#include "run/prepare.h"

extern char **environ;

/* Where the facts are. */
struct sources {
    const struct berth_launch *launch;
    const struct berth_rendezvous *rendezvous; /* NULL: none */
    const char *apart;                         /* NULL: tasks share a container */
};

/* Add what the runtime mounts by a variable of the task. */
static int add_variables(const struct berth_launch *launch, struct berth_plan *plan,
                         struct berth_err *err)
{
    static const char *const names[] = {"APPTAINER_BIND", "APPTAINER_BINDPATH",
                                        "SINGULARITY_BIND", "SINGULARITY_BINDPATH"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = berth_environ_value(launch->environment, names[i]);
        BERTH_STRVEC struct berth_strvec mounts = {0};
        BERTH_BUF struct berth_buf variable = {0};
        char *environment[] = {NULL, NULL};
        const struct berth_mountrules_task task = {.environment = environment,
                                                   .directory = launch->directory};

        if (!value)
            continue;
        berth_buf_addf(&variable, "%s=%s", names[i], value);
        environment[0] = variable.text;
        if (variable.failed)
            return berth_err_oom(err);
        if (berth_mountrules_variables(&task, &mounts, err) < 0 ||
            berth_plan_mounts(plan, &mounts, BERTH_FROM_USER, names[i], err) < 0)
            return -1;
    }
    return 0;
}

/* Add the files that the runtime mounts by a variable with a list of libraries. */
static int add_containlibs(const struct berth_launch *launch, struct berth_plan *plan,
                           struct berth_err *err)
{
    static const char *const names[] = {"APPTAINER_CONTAINLIBS",
                                        "SINGULARITY_CONTAINLIBS"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = berth_environ_value(launch->environment, names[i]);
        BERTH_STRVEC struct berth_strvec files = {0};

        berth_strvec_split(&files, value ? value : "");
        if (files.failed)
            return berth_err_oom(err);
        for (size_t k = 0; k < files.count; k++) {
            BERTH_FREE char *place = NULL;
            const char *file = files.items[k];
            const char *slash = strrchr(file, '/');

            if (!*file)
                continue;
            if (asprintf(&place, "/.singularity.d/libs/%s", slash ? slash + 1 : file) <
                0)
                return berth_err_oom(err);
            berth_plan_mount(plan, file, place, BERTH_MOUNT_RO, BERTH_FROM_USER,
                             names[i]);
        }
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
static void list_restored(const struct sources *sources, struct berth_explain *explain)
{
    const struct berth_strvec *restored = &sources->launch->order->restored;

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

/* Find the environment with which the runtime was started; if tasks share a container,
 * that of the task that started it. */
static int find_before(const struct sources *sources, struct berth_buf *ret,
                       struct berth_err *err)
{
    if (sources->rendezvous && !sources->apart) {
        size_t count;
        const char *before = berth_rendezvous_before(sources->rendezvous, &count);

        berth_buf_add(ret, before, count);
    } else {
        berth_envdiff_flatten(environ, ret);
    }
    return ret->failed ? berth_err_oom(err) : 0;
}

/* As a task does when it joins: apply the difference that the runtime made to the
 * environment of the task.
 */
static int list_image_environment(const struct sources *sources,
                                  struct berth_explain *explain, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec result = {0};
    BERTH_BUF struct berth_buf before = {0};
    BERTH_BUF struct berth_buf after = {0};

    if (explain->binding.before.count == 0)
        return 0;
    berth_envdiff_flatten(explain->binding.before.items, &after);
    if (after.failed)
        return berth_err_oom(err);
    if (find_before(sources, &before, err) < 0)
        return -1;
    if (berth_envdiff_apply(before.text, before.used, after.text, after.used, environ,
                            &result, err) < 0)
        return -1;
    berth_plan_change(&explain->plan, environ, result.items, BERTH_FROM_RUNTIME,
                      "the container runtime sets it in every image");
    berth_plan_change(&explain->plan, environ, result.items, BERTH_FROM_IMAGE,
                      "the image's environment, as the runtime sets it");
    return 0;
}

static int list_environment(const struct sources *sources,
                            struct berth_explain *explain, struct berth_err *err)
{
    const struct berth_launch *launch = sources->launch;
    const bool is_launch = berth_request_mpi_is(launch->request, BERTH_MODE_LAUNCH);
    struct berth_plan *plan = &explain->plan;
    BERTH_STRVEC struct berth_strvec apart = {0};

    list_restored(sources, explain);
    if (berth_request_starts_mpirun(launch->request))
        berth_plan_change(plan, launch->environment, environ, BERTH_FROM_BERTH,
                          is_launch ? "the mpirun sees the job, and not the "
                                      "step of one task (--mpi-bind=launch)"
                                    : "hidden, so that an mpirun in the task "
                                      "starts ranks without Slurm "
                                      "(--mpi-bind=local)");
    if (list_image_environment(sources, explain, err) < 0)
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

static int collect(const struct sources *sources, struct berth_explain *explain,
                   struct berth_err *err)
{
    const struct berth_launch *launch = sources->launch;

    if (sources->rendezvous &&
        berth_rendezvous_get_binding(sources->rendezvous, &explain->binding, err) < 0)
        return -1;
    explain->apart = sources->apart;
    explain->environment = launch->environment;
    explain->runtime = launch->runtime;
    explain->gpu = launch->gpu.flag;
    explain->gpu_because = launch->gpu.because;
    explain->runtime_version = berth_runtime_version(launch->runtime);
    explain->inside = berth_order_inside(launch->order);
    explain->why_step = berth_order_why_step(launch->order, sources->apart);
    if (!explain->why_step && berth_request_has_job_lifetime(launch->request) &&
        berth_job_check(launch, &explain->no_server) < 0)
        explain->why_step = explain->no_server.text;
    explain->manager = berth_environ_value(launch->environment, "SLURM_MPI_TYPE");
    list_places(launch, explain->places);
    if (berth_image_describe(launch->request->image, &explain->image, err) < 0 ||
        add_variables(launch, &explain->plan, err) < 0 ||
        add_containlibs(launch, &explain->plan, err) < 0 ||
        berth_launch_mounts(launch, &explain->binding.binds, &explain->plan, err) < 0 ||
        list_words(launch, explain, err) < 0)
        return -1;
    return list_environment(sources, explain, err);
}

int berth_account_collect(struct berth_task *task,
                          const struct berth_rendezvous *rendezvous, const char *apart,
                          struct berth_err *err)
{
    const struct berth_request *request = &task->order.request;
    const struct sources sources = {&task->launch, rendezvous, apart};
    struct berth_explain *ret = &task->account;
    bool has_container = berth_request_has_container(request);

    if (has_container && berth_prepare(task, err) < 0)
        return -1;
    *ret = (struct berth_explain){.step = task->order.step,
                                  .rank = berth_environ_value(environ, "SLURM_PROCID"),
                                  .node = task->node,
                                  .request = request,
                                  .command = task->command};
    return has_container ? collect(&sources, ret, err) : 0;
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
    return berth_err_set(err, "standard output: %s", strerror(errno));
}
