/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a task is to do, and prints why the task fails. */

#include "run/task.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
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

    if (name)
        return name;
    gethostname(host, sizeof(host) - 1);
    return host;
}

/* Returns the site's prefix of options. */
static const char *prefix_of(const struct berth_task *task)
{
    return berth_text_or(task->order.prefix, "");
}

/* With --multi-prog, options for the image are before the command: skip them. */
static int skip_options(struct berth_task *task, struct berth_err *err)
{
    int count;

    if (!task->order.step.ranks)
        return 0;
    count = berth_multiprog_options(task->launch.command, prefix_of(task), err);
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
    return berth_err_oom_if(list->failed, err);
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

/* Close the socket of the step's process manager, FD, which an mpirun would use. */
static void close_manager(int fd)
{
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return;
    if (S_ISSOCK(status.st_mode)) /* the number may be another file's */
        close(fd);
}

int berth_task_hide_step(struct berth_task *task, struct berth_err *err)
{
    static struct berth_strvec shown; /* the process's environment from now on */
    const char *why;
    bool has_temporary;

    if (!berth_request_starts_mpirun(&task->order.request))
        return 0;
    berth_order_inside(&task->order, &why);
    if (berth_task_check_launch(task, why, err) < 0)
        return -1;
    close_manager(berth_mpirun_descriptor(environ));
    has_temporary = berth_places_has_temporary(&task->launch);
    if (berth_mpirun_environment(&task->order.request, environ, &task->order.allocation,
                                 has_temporary, &shown, err) < 0)
        return -1;
    environ = shown.items;
    /* commands of the host see the job, too; an explanation lists the difference */
    if (berth_request_mpi_is(&task->order.request, BERTH_MODE_LAUNCH) &&
        !berth_request_is_explained(&task->order.request))
        task->launch.environment = environ;
    return 0;
}

int berth_task_end(const struct berth_task *task, int status, struct berth_err *err)
{
    const char *place = berth_text_or(task->launch.node, "berth-task");

    if (status != 0 && *err->text) {
        berth_spell_options(prefix_of(task), err);
        berth_report(task->order.report, place, err);
    }
    if (status < 0)
        return BERTH_REFUSED;
    return status;
}
