/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a task is to do, and prints why the task fails. */

#include "run/task.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "request/mpirun.h"
#include "request/multiprog.h"
#include "request/option.h"
#include "request/wire.h"
#include "container/become.h"
#include "ipc/report.h"
#include "run/places.h"

extern char **environ;

static const char *node_name(void)
{
    static char host[256] = "this host";
    const char *name = getenv(BERTH_TASK_NODE);

    if (!name)
        gethostname(host, sizeof(host) - 1);
    return name ? name : host;
}

/* With --multi-prog, options for the image stand in front of the command: skip them. */
static int skip_options(struct berth_task *task, struct berth_err *err)
{
    const char *prefix = task->order.prefix ? task->order.prefix : "";
    int count = task->order.step.ranks
                    ? berth_multiprog_options(task->launch.command, prefix, err)
                    : 0;

    if (count < 0)
        return -1;
    task->launch.command += count;
    return 0;
}

static int refuse_start(struct berth_err *err)
{
    return berth_err_set(err, "berth-task is started by Slurm through the berth "
                              "plugin, not by hand; see spank_berth(8)");
}

void berth_task_begin(struct berth_task *task, char **command)
{
    struct berth_order *order = &task->order;

    order->is_closed = berth_request_is_closed(&order->request, environ);
    task->launch = (struct berth_launch){.order = order,
                                         .directory = getcwd(NULL, 0),
                                         .node = node_name(),
                                         .request = &order->request,
                                         .environment = environ,
                                         .command = command};
}

int berth_task_read(struct berth_task *task, char **argv, struct berth_err *err)
{
    const struct berth_request *request = &task->order.request;
    const char *text = getenv(BERTH_TASK_ORDER);

    task->launch.node = node_name();
    if (!text)
        return refuse_start(err);
    if (berth_order_get(text, &task->order, err) < 0)
        return berth_err_at(err, BERTH_TASK_ORDER);
    unsetenv(BERTH_TASK_ORDER);
    berth_task_begin(task, argv + 1);
    if (task->order.argv0) {
        argv[0] = task->order.argv0;
        task->launch.command = argv;
    }
    if (skip_options(task, err) < 0)
        return -1;
    if (!*task->launch.command && request->entrypoint != BERTH_YES)
        return refuse_start(err);
    return 0;
}

int berth_task_set(struct berth_strvec *list, struct berth_err *err)
{
    for (size_t i = 0; i < list->count; i++)
        if (putenv(berth_steal(&list->items[i])) < 0)
            return berth_err_oom(err);
    return list->failed ? berth_err_oom(err) : 0;
}

struct berth_rendezvous berth_task_rendezvous(const struct berth_task *task)
{
    const struct berth_order *order = &task->order;

    return (struct berth_rendezvous){.slot = order->container.number,
                                     .memory = order->memory,
                                     .tasks = order->tasks,
                                     .ended = order->ended};
}

int berth_task_check_launch(const struct berth_task *task, const char *why,
                            struct berth_err *err)
{
    if (!why || !berth_request_mpi_is(&task->order.request, BERTH_MODE_LAUNCH))
        return 0;
    return berth_err_set(err,
                         "--mpi-bind=launch: the image gets no srun, with which its "
                         "mpirun starts daemons: %s; let srun start the ranks "
                         "(--mpi-bind=hybrid), or stay on one node (--mpi-bind=local)",
                         why);
}

int berth_task_hide_launcher(struct berth_task *task, struct berth_err *err)
{
    static struct berth_strvec shown; /* the process's environment from now on */
    int fd = berth_mpirun_descriptor(environ);
    struct stat status;
    const char *why;

    if (!berth_request_starts_mpirun(&task->order.request))
        return 0;
    berth_order_inside(&task->order, &why);
    if (berth_task_check_launch(task, why, err) < 0)
        return -1;
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode))
        close(fd);
    if (berth_mpirun_environment(&task->order.request, environ, &task->order.allocation,
                                 berth_places_has_temporary(&task->launch), &shown,
                                 err) < 0)
        return -1;
    environ = shown.items;
    /* commands of the host see the job, too; an account lists the difference */
    if (berth_request_mpi_is(&task->order.request, BERTH_MODE_LAUNCH) &&
        !berth_request_is_explained(&task->order.request))
        task->launch.environment = environ;
    return 0;
}

int berth_task_end(const struct berth_task *task, int status, struct berth_err *err)
{
    if (status != 0 && *err->text) {
        berth_spell_options(task->order.prefix ? task->order.prefix : "", err);
        berth_report(task->order.report,
                     task->launch.node ? task->launch.node : "berth-task", err);
    }
    return status < 0 ? BERTH_REFUSED : status;
}
