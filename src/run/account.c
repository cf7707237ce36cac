/* SPDX-License-Identifier: Apache-2.0 */
/* Collects what is known of a launch, for --container-explain. */

#include "run/account.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "job/ask.h"
#include "plan/envdiff.h"
#include "site/mountrules.h"
#include "step/image.h"
#include "step/runtime.h"
#include "plan/explain.h"
#include "request/mount.h"

/* Split LIST into what the user asked for (it is in ASKED), and what the site adds. */
static void split(const struct berth_strvec *list, const struct berth_strvec *asked,
                  struct berth_strvec *user, struct berth_strvec *site)
{
    for (size_t i = 0; i < list->count; i++)
        berth_strvec_push(berth_strvec_has(asked, list->items[i]) ? user : site,
                          list->items[i]);
}

static int add_mounts(const struct berth_strvec *mounts, const char *from,
                      const char *why, struct berth_explain *explain,
                      struct berth_err *err)
{
    for (size_t i = 0; i < mounts->count; i++) {
        struct berth_mount mount;

        if (berth_mount_parse(mounts->items[i], NULL, &mount, err) < 0)
            return -1;
        berth_explain_add_mount(explain, mount.source, mount.destination, mount.mode,
                                from, why);
        berth_mount_fini(&mount);
    }
    return 0;
}

/* Add what the runtime mounts by a variable of the task. */
static int add_variables(const struct berth_launch *launch,
                         struct berth_explain *explain, struct berth_err *err)
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
            add_mounts(&mounts, BERTH_FROM_USER, names[i], explain, err) < 0)
            return -1;
    }
    return 0;
}

/* Add the files that the runtime mounts by a variable with a list of libraries. */
static int add_containlibs(const struct berth_launch *launch,
                           struct berth_explain *explain, struct berth_err *err)
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
            berth_explain_add_mount(explain, file, place, BERTH_MOUNT_RO,
                                    BERTH_FROM_USER, names[i]);
        }
    }
    return 0;
}

/* By which options files of the host are over those of the image. */
static const char *why_bound(const struct berth_explain *explain)
{
    const struct berth_request *request = explain->request;

    if (!explain->binding.host)
        return "the host's file replaces the image's (--container-libs)";
    return berth_request_names_libs(request)
               ? "the host's file replaces the image's (--mpi-bind, --container-libs)"
               : "the host's file replaces the image's (--mpi-bind)";
}

/* In the order of the words of the runtime. */
static int list_mounts(const struct berth_launch *launch,
                       const struct berth_request *asked, struct berth_explain *explain,
                       struct berth_err *err)
{
    const struct berth_strvec *binds = &explain->binding.binds;
    BERTH_STRVEC struct berth_strvec places = {0};
    BERTH_STRVEC struct berth_strvec user = {0};
    BERTH_STRVEC struct berth_strvec site = {0};

    split(&launch->request->mounts, &asked->mounts, &user, &site);
    if (launch->request->home == BERTH_YES && launch->home)
        berth_explain_add_mount(explain, launch->home, launch->home, BERTH_MOUNT_RW,
                                BERTH_FROM_USER, "--container-mount-home");
    if (add_variables(launch, explain, err) < 0 ||
        add_containlibs(launch, explain, err) < 0 ||
        add_mounts(&user, BERTH_FROM_USER, "--container-mounts", explain, err) < 0 ||
        add_mounts(&site, BERTH_FROM_SITE, "the site mounts it in every container",
                   explain, err) < 0 ||
        add_mounts(launch->mounts, BERTH_FROM_BERTH,
                   berth_request_mpi_chosen(launch->request)
                       ? "the copies of the host's MPI, and the record of the ranks "
                         "that load it (--mpi-bind)"
                       : "the copies of the host's libraries (--container-libs)",
                   explain, err) < 0 ||
        add_mounts(launch->fabric, BERTH_FROM_MPI,
                   berth_request_mpi_chosen(launch->request)
                       ? "a profile of the host's MPI names it (--mpi-bind)"
                       : "a profile of the host's libraries names it "
                         "(--container-libs)",
                   explain, err) < 0)
        return -1;
    berth_launch_manager_places(launch->request, launch->environment, &places);
    for (size_t i = 0; i < places.count; i++)
        berth_explain_add_mount(explain, places.items[i], places.items[i],
                                BERTH_MOUNT_RW, BERTH_FROM_BERTH,
                                "Slurm's process manager and the tasks meet here "
                                "(--mpi)");
    for (size_t i = 0; i + 1 < binds->count; i += 2)
        berth_explain_add_mount(explain, binds->items[i], binds->items[i + 1],
                                BERTH_MOUNT_RO, BERTH_FROM_MPI, why_bound(explain));
    return places.failed || user.failed || site.failed ? berth_err_oom(err) : 0;
}

/* Is the runtime root in an outer user namespace (run/supervisor.c)? */
static bool is_outer(const struct berth_launch *launch,
                     const struct berth_explain *explain)
{
    const struct berth_order_container *container = &launch->order->container;

    return container->others > 0 && container->hosts == 0 && geteuid() != 0 &&
           !explain->binding.no_cma;
}

static int list_words(const struct berth_launch *given, struct berth_explain *explain,
                      struct berth_err *err)
{
    struct berth_launch launch = *given;

    if (explain->apart)
        return berth_launch_own_argv(&launch, &explain->words, err);
    launch.is_outer = is_outer(given, explain);
    return berth_launch_holder_argv(&launch, "berth-init", -1, -1, -1, &explain->words,
                                    err);
}

/* List the variables that --export drops and berth restores. */
static void list_restored(const struct berth_account *account,
                          struct berth_explain *explain)
{
    const struct berth_strvec *restored = &account->launch->order->restored;

    for (size_t i = 0; i + 1 < restored->count; i += 2) {
        const char *name = restored->items[i];
        BERTH_FREE char *why = NULL;

        if (asprintf(&why, "--export drops it, and berth restores it (list: %s)",
                     restored->items[i + 1]) < 0) {
            explain->failed = true;
            return;
        }
        berth_explain_add_variable(explain, name,
                                   berth_environ_value(account->environment, name),
                                   BERTH_FROM_CAPTURE, why);
    }
}

/* Find the environment with which the runtime was started; if tasks share a container,
 * that of the task that started it. */
static int find_before(const struct berth_account *account, struct berth_buf *ret,
                       struct berth_err *err)
{
    if (account->rendezvous && !account->apart) {
        size_t count;
        const char *before = berth_rendezvous_before(account->rendezvous, &count);

        berth_buf_add(ret, before, count);
    } else {
        berth_envdiff_flatten(account->environment, ret);
    }
    return ret->failed ? berth_err_oom(err) : 0;
}

/* As a task does when it joins: apply the difference that the runtime made to the
 * environment of the task.
 */
static int list_image_environment(const struct berth_account *account,
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
    if (find_before(account, &before, err) < 0)
        return -1;
    if (berth_envdiff_apply(before.text, before.used, after.text, after.used,
                            account->environment, &result, err) < 0)
        return -1;
    berth_explain_add_change(explain, account->environment, result.items,
                             BERTH_EXPLAIN_RUNTIME, BERTH_FROM_RUNTIME,
                             "the container runtime sets it in every image");
    berth_explain_add_change(explain, account->environment, result.items,
                             BERTH_EXPLAIN_REST, BERTH_FROM_IMAGE,
                             "the image's environment, as the runtime sets it");
    return 0;
}

/* List ITEM of the request: NAME=VALUE of the user or of the site, or NAME of the site,
 * whose value is that of the task (site/policy.c). */
static void list_item(const struct berth_launch *launch,
                      const struct berth_request *asked, const char *item,
                      struct berth_explain *explain)
{
    const char *equals = strchr(item, '=');
    BERTH_FREE char *name = strndup(item, strcspn(item, "="));
    const char *value = equals ? equals + 1
                        : name ? berth_environ_value(launch->environment, name)
                               : NULL;

    explain->failed |= !name;
    if (!name || !value)
        return;
    if (berth_strvec_has(&asked->env, item))
        berth_explain_add_variable(explain, name, value, BERTH_FROM_USER,
                                   "--container-env");
    else if (equals)
        berth_explain_add_variable(explain, name, value, BERTH_FROM_SITE,
                                   "the site sets it in every container");
    else
        berth_explain_add_variable(explain, name, value, BERTH_FROM_USER,
                                   "exported, which wins over the site "
                                   "(rules)");
}

/* List the changes that berth_launch_env() makes, in its order. */
static void list_asked(const struct berth_launch *launch,
                       const struct berth_request *asked, struct berth_explain *explain)
{
    const struct berth_strvec *env = &launch->request->env;

    for (size_t i = 0; launch->terms && i < launch->terms->unset.count; i++)
        berth_explain_add_variable(explain, launch->terms->unset.items[i], NULL,
                                   BERTH_FROM_SITE,
                                   "the site unsets it in every "
                                   "container");
    for (size_t i = 0; i < env->count; i++)
        list_item(launch, asked, env->items[i], explain);
}

static int list_environment(const struct berth_account *account,
                            const struct berth_request *asked,
                            struct berth_explain *explain, struct berth_err *err)
{
    const struct berth_launch *launch = account->launch;
    const bool is_launch = berth_request_mpi_is(launch->request, BERTH_MODE_LAUNCH);
    BERTH_STRVEC struct berth_strvec apart = {0};

    list_restored(account, explain);
    if (berth_request_starts_mpirun(launch->request))
        berth_explain_add_change(explain, launch->environment, account->environment,
                                 BERTH_EXPLAIN_ALL, BERTH_FROM_BERTH,
                                 is_launch ? "the mpirun sees the job, and not the "
                                             "step of one task (--mpi-bind=launch)"
                                           : "hidden, so that an mpirun in the task "
                                             "starts ranks without Slurm "
                                             "(--mpi-bind=local)");
    if (list_image_environment(account, explain, err) < 0)
        return -1;
    berth_explain_add_set(explain, &explain->binding.set, BERTH_FROM_MPI,
                          "the MPI that runs needs it (--mpi-bind)");
    if (explain->apart && !berth_request_mpi_is(launch->request, BERTH_MODE_OFF))
        berth_launch_apart(launch->environment, &apart);
    berth_explain_add_set(explain, &apart, BERTH_FROM_BERTH,
                          "a task in a container of its own cannot read the memory of "
                          "others");
    list_asked(launch, asked, explain);
    return apart.failed || explain->failed ? berth_err_oom(err) : 0;
}

static bool is_same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static int copy_text(const char *text, char **ret, struct berth_err *err)
{
    *ret = text ? strdup(text) : NULL;
    return text && !*ret ? berth_err_oom(err) : 0;
}

static int collect(const struct berth_account *account,
                   const struct berth_request *asked, struct berth_explain *explain,
                   struct berth_err *err)
{
    const struct berth_launch *launch = account->launch;

    if (copy_text(account->apart, &explain->apart, err) < 0 ||
        (account->rendezvous &&
         berth_rendezvous_get_binding(account->rendezvous, &explain->binding, err) < 0))
        return -1;
    explain->runtime = launch->runtime;
    explain->gpu = launch->gpu.flag;
    explain->gpu_because = launch->gpu.because;
    explain->runtime_version = berth_runtime_version(launch->runtime);
    if (launch->request->lifetime)
        explain->lifetime_from = is_same(launch->request->lifetime, asked->lifetime)
                                     ? BERTH_FROM_USER
                                     : BERTH_FROM_SITE;
    explain->inside = berth_order_inside(launch->order);
    explain->why_step = berth_order_why_step(launch->order, account->apart);
    if (!explain->why_step && berth_request_has_job_lifetime(launch->request) &&
        berth_job_check(launch, &explain->no_server) < 0)
        explain->why_step = explain->no_server.text;
    explain->mode_from = is_same(launch->request->mpi, asked->mpi) ||
                                 (!asked->mpi && asked->libs) /* which means hybrid */
                             ? BERTH_FROM_USER
                             : BERTH_FROM_SITE;
    explain->manager = berth_environ_value(launch->environment, "SLURM_MPI_TYPE");
    if (berth_image_describe(launch->request->image, &explain->image, err) < 0 ||
        list_mounts(launch, asked, explain, err) < 0 ||
        list_words(launch, explain, err) < 0)
        return -1;
    return list_environment(account, asked, explain, err);
}

int berth_account_write(const struct berth_account *account, struct berth_buf *ret,
                        struct berth_err *err)
{
    const struct berth_launch *launch = account->launch;
    const struct berth_request *by_user =
        launch->order->asked.image ? &launch->order->asked : launch->request;
    struct berth_explain explain = {
        .step = launch->order->step,
        .rank = berth_environ_value(account->environment, "SLURM_PROCID"),
        .node = launch->node,
        .request = launch->request,
        .command = launch->command};
    int result = 0;

    if (berth_request_has_container(launch->request))
        result = collect(account, by_user, &explain, err);
    if (result == 0)
        result = berth_explain_write(&explain, ret, err);
    berth_explain_fini(&explain);
    return result;
}

int berth_account_print(const struct berth_buf *text, struct berth_err *err)
{
    if (berth_fd_write(STDOUT_FILENO, text->text, text->used) == 0)
        return 0;
    return berth_err_set(err, "standard output: %s", strerror(errno));
}
