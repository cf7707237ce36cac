/* SPDX-License-Identifier: Apache-2.0 */
/* What a task is to do, and whether all that this takes is there. */

#include "launch/task.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "launch/inject.h"
#include "launch/preflight.h"
#include "plan/gpu.h"
#include "probe/gpu.h"
#include "probe/image.h"
#include "probe/runtime.h"
#include "request/launcher.h"
#include "request/multiprog.h"
#include "request/spell.h"
#include "request/wire.h"
#include "step/identity.h"
#include "step/report.h"

extern char **environ;

static char *node_name(void)
{
    const char *name = getenv(BERTH_TASK_NODE);
    char host[256] = "this host";

    if (name)
        return strdup(name);
    gethostname(host, sizeof(host) - 1);
    return strdup(host);
}

/* With --multi-prog, options for the image are words of the command line. */
static int skip_options(struct berth_task *task, struct berth_err *err)
{
    const char *prefix = task->order.prefix ? task->order.prefix : "";
    int count = task->order.step.ranks
                    ? berth_multiprog_options(task->command, prefix, err)
                    : 0;

    if (count < 0)
        return -1;
    task->command += count;
    return 0;
}

/* Out of the environment. */
static int take_order(struct berth_task *task, struct berth_err *err)
{
    const char *text = getenv(BERTH_TASK_ORDER);
    struct berth_err why;

    if (!text)
        return berth_err_set(err, "berth-task is started by Slurm through the berth "
                                  "plugin, not by hand; see spank_berth(8)");
    if (berth_order_get(text, &task->order, &why) < 0)
        return berth_err_set(err, BERTH_TASK_ORDER ": %s" BERTH_VARIABLE_ADVICE,
                             why.text);
    unsetenv(BERTH_TASK_ORDER);
    return 0;
}

int berth_task_read(struct berth_task *task, char **argv, struct berth_err *err)
{
    const struct berth_request *request = &task->order.request;

    task->node = node_name();
    if (!task->node)
        return berth_err_oom(err);
    if (take_order(task, err) < 0)
        return -1;
    task->runtime = berth_steal(&task->order.runtime);
    task->directory = getcwd(NULL, 0);
    task->environment = environ;
    task->command = argv + 1;
    if (task->order.argv0) {
        argv[0] = task->order.argv0;
        task->command = argv;
    }
    if (skip_options(task, err) < 0)
        return -1;
    if (asprintf(&task->place, "%s: image '%s'", task->node,
                 request->image ? berth_request_name(request) : BERTH_NO_IMAGE) < 0)
        return berth_err_oom(err);
    if (!*task->command && request->entrypoint != BERTH_YES)
        return berth_err_set(err, "no command given");
    return 0;
}

int berth_task_hide_launcher(const struct berth_task *task, struct berth_err *err)
{
    static struct berth_strvec shown; /* the process's environment from now on */
    int fd = berth_launcher_descriptor(environ);
    struct stat status;

    if (!berth_request_mpi_local(&task->order.request))
        return 0;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
        close(fd);
    if (berth_launcher_environment(&task->order.request, environ, &shown, err) < 0)
        return -1;
    environ = shown.items;
    return 0;
}

/* $HOME, or what the user database says where it is no directory's name, or Slurm has
 * dropped it (--export=NONE); NULL when neither knows. */
static const char *home_directory(const struct berth_task *task)
{
    const char *home = getenv("HOME");

    return home && *home == '/' ? home : task->home;
}

int berth_task_prepare(struct berth_task *task, struct berth_launch *ret,
                       struct berth_err *err)
{
    const struct passwd *user = getpwuid(getuid());
    const struct berth_gpu_host gpus = berth_gpu_look();
    struct berth_gpu_choice gpu;
    char *runtime;

    berth_strvec_fini(&task->mounts); /* of an earlier call */
    berth_strvec_fini(&task->fabric);
    if (berth_image_look(&task->order.request, err) < 0 ||
        berth_preflight_check(&task->order.request, err) < 0 ||
        berth_gpu_choose(&task->order.request, task->environment, &gpus, &gpu, err) <
            0 ||
        berth_inject_mounts(&task->order.request, &task->mounts, err) < 0 ||
        berth_inject_fabric(&task->order.request, &task->order.terms, &task->fabric,
                            err) < 0 ||
        berth_runtime_find(task->runtime, getenv("PATH"), &runtime, err) < 0)
        return -1;
    free(task->runtime);
    task->runtime = runtime;
    if (!task->home && user)
        task->home = strdup(user->pw_dir);
    *ret = (struct berth_launch){
        .order = &task->order,
        .runtime = runtime,
        .home = home_directory(task),
        .directory = task->directory,
        .node = task->node,
        .request = &task->order.request,
        .terms = &task->order.terms,
        .environment = task->environment,
        .mounts = &task->mounts,
        .fabric = &task->fabric,
        .gpu = gpu,
        .command = task->command,
        .unknown_user = !berth_identity_is_known(),
        .account_home = task->home,
    };
    return 0;
}

void berth_task_fail(const struct berth_task *task, struct berth_err *err)
{
    berth_spell_options(task->order.prefix ? task->order.prefix : "", err);
    berth_report(task->order.report, task->node ? task->node : "berth-task", err);
}
