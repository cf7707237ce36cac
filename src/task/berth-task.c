/* SPDX-License-Identifier: Apache-2.0 */
/* berth-task: stands in front of the user's command in every task that has an image, as
 * the user and with no privilege. It looks whether everything is there, then becomes
 * the container runtime, which starts berth-init in the image, which becomes the
 * command. */

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "plan/launch.h"
#include "plan/mount.h"
#include "plan/option.h"
#include "plan/wire.h"
#include "probe/image.h"
#include "probe/runtime.h"
#include "task/guard.h"
#include "task/names.h"
#include "task/report.h"

extern char **environ;

/* Exit status when no application was started. */
enum { REFUSED = 1 };

/* What the plugin said, out of the environment. */
struct task {
    struct berth_request request;
    char *node;
    char *prefix;  /* of options, in messages */
    char *runtime; /* the site's; NULL: find one */
    char *argv0;   /* NULL: the command is behind our own argv[0] */
    int report;
};

/* A variable that is ours: its value, and it is gone. The caller frees it. */
static char *take_variable(const char *name)
{
    const char *value = getenv(name);
    char *copy = value ? strdup(value) : NULL;

    unsetenv(name);
    return copy;
}

static char *node_name(void)
{
    const char *name = getenv(BERTH_TASK_NODE);
    char host[256] = "this host";

    if (name)
        return strdup(name);
    gethostname(host, sizeof(host) - 1);
    return strdup(host);
}

static int read_task(struct task *task, struct berth_err *err)
{
    BERTH_FREE char *request = take_variable(BERTH_TASK_REQUEST);
    BERTH_FREE char *report = take_variable(BERTH_TASK_REPORT);

    task->report = report ? atoi(report) : -1;
    task->prefix = take_variable(BERTH_TASK_PREFIX);
    task->runtime = take_variable(BERTH_TASK_RUNTIME);
    task->argv0 = take_variable(BERTH_TASK_ARGV0);
    task->node = node_name();
    if (!task->node)
        return berth_err_oom(err);
    if (!request)
        return berth_err_set(err, "berth-task is started by Slurm through the berth "
                                  "plugin, not by hand; see spank_berth(8)");
    if (berth_wire_get_request(request, &task->request, err) < 0)
        return berth_err_at(err, BERTH_TASK_REQUEST);
    return 0;
}

static int check_mounts(const struct berth_strvec *mounts, struct berth_err *err)
{
    for (size_t i = 0; i < mounts->count; i++) {
        struct berth_mount mount;
        int failed;

        if (berth_mount_parse(mounts->items[i], NULL, &mount, err) < 0)
            return -1;
        failed = access(mount.source, F_OK);
        if (failed)
            berth_err_set(err,
                          "--container-mounts: '%s': %s; expected a file or directory "
                          "that exists on every node",
                          mount.source, strerror(errno));
        berth_mount_fini(&mount);
        if (failed)
            return -1;
    }
    return 0;
}

/* berth-init, open, so that it can be started in an image in which it is not: through
 * /proc/self/fd, which needs no bind mount. */
static int open_init(struct berth_err *err)
{
    int fd = open(BERTH_LIBEXECDIR "/berth-init", O_RDONLY);

    if (fd < 0)
        return berth_err_set(err, "'%s': %s; install berth again on this host",
                             BERTH_LIBEXECDIR "/berth-init", strerror(errno));
    return fd;
}

/* $HOME, or what the user database says where Slurm dropped it (--export=NONE); NULL
 * when neither knows. */
static const char *home_directory(void)
{
    const char *home = getenv("HOME");
    const struct passwd *user = home ? NULL : getpwuid(getuid());

    return user ? user->pw_dir : home;
}

static int become_runtime(const struct task *task, char **command,
                          struct berth_err *err)
{
    BERTH_FREE char *runtime = NULL;
    BERTH_FREE char *directory = getcwd(NULL, 0);
    BERTH_FREE char *place = NULL;
    BERTH_STRVEC struct berth_strvec argv = {0};
    struct berth_launch launch = {0};
    char init[32];
    int fd;

    if (berth_runtime_find(task->runtime, getenv("PATH"), &runtime, err) < 0)
        return -1;
    fd = open_init(err);
    if (fd < 0)
        return -1;
    snprintf(init, sizeof(init), "/proc/self/fd/%d", fd);
    if (asprintf(&place, "%s: image '%s'", task->node, task->request.image) < 0)
        return berth_err_oom(err);
    launch.runtime = runtime;
    launch.init = init;
    launch.home = home_directory();
    launch.directory = directory;
    launch.place = place;
    launch.prefix = task->prefix ? task->prefix : "";
    launch.report = task->report;
    launch.request = &task->request;
    launch.environment = environ;
    launch.command = command;
    launch.guard = berth_guard_start(err);
    if (launch.guard < 0)
        return -1;
    if (berth_launch_argv(&launch, &argv, err) < 0)
        return -1;
    execv(runtime, argv.items);
    return berth_err_set(err, "container runtime '%s': %s", runtime, strerror(errno));
}

static int run(struct task *task, char **argv, struct berth_err *err)
{
    struct berth_image image;
    char **command = argv + 1;

    if (read_task(task, err) < 0)
        return -1;
    if (task->argv0) {
        argv[0] = task->argv0;
        command = argv;
    }
    if (!*command)
        return berth_err_set(err, "no command given");
    if (berth_image_probe(task->request.image, &image, NULL, err) < 0 ||
        berth_image_check_machine(task->request.image, &image, err) < 0 ||
        check_mounts(&task->request.mounts, err) < 0)
        return -1;
    return become_runtime(task, command, err);
}

int main(int argc, char **argv)
{
    struct task task = {.report = -1};
    struct berth_err err;

    (void)argc;
    run(&task, argv, &err);
    berth_option_spell(task.prefix ? task.prefix : "", &err);
    berth_report(task.report, task.node ? task.node : "berth-task", &err);
    return REFUSED;
}
