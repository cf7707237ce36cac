/* SPDX-License-Identifier: Apache-2.0 */
/* How a task becomes the runtime of its own container. */

#include "run/own.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/run.h"
#include "step/start.h"
#include "step/become.h"
#include "step/handover.h"
#include "step/limits.h"
#include "step/log.h"
#include "step/program.h"
#include "job/hostserver.h"
#include "run/prepare.h"
#include "run/watcher.h"

extern char **environ;

/* Redirect standard error to LOG. Returns a descriptor of the old one, which berth-init
 * restores; -1 with a sentence in ERR.
 */
static int redirect_stderr(int log, struct berth_err *err)
{
    int task_stderr = dup(STDERR_FILENO);

    if (task_stderr < 0 || dup2(log, STDERR_FILENO) < 0)
        return berth_err_set(err, "cannot make a log: %s", strerror(errno));
    return task_stderr;
}

/* Write the handover for berth-init. Returns a descriptor, or -1 with a sentence in
 * ERR. */
static int write_handover(const struct berth_task *task,
                          const struct berth_launch *launch,
                          const struct berth_hostcommand *hostcommand,
                          const char *limits, int watcher, int task_stderr,
                          struct berth_err *err)
{
    const struct berth_launch_init init = {.place = task->place,
                                           .prefix = task->order.prefix,
                                           .limits = limits,
                                           .set = &task->binding.set,
                                           .report = task->order.report,
                                           .watcher = watcher,
                                           .task_stderr = task_stderr,
                                           .programs = hostcommand->programs,
                                           .environment = hostcommand->environment};
    BERTH_STRVEC struct berth_strvec words = {0};

    if (berth_launch_init_argv(launch, &init, &words, err) < 0)
        return -1;
    return berth_handover_write(&words, environ, err);
}

/* Is MPI to be told that its ranks cannot read each other's memory? Without --mpi-bind,
 * only if the step has other programs on the node. */
static bool is_apart_for_mpi(const struct berth_order *order)
{
    return order->container.others + order->container.hosts > 0
               ? !berth_request_mpi_declined(&order->request)
               : !berth_request_mpi_is(&order->request, BERTH_MODE_OFF);
}

/* Offer commands of the host. berth-init holds the directory of the commands for its
 * task, and writes the environment of the task into memory: without the memory,
 * commands on the host would get the image's variables. */
static void offer_commands(const struct berth_launch *launch,
                           struct berth_hostcommand *ret, struct berth_strvec *set)
{
    berth_hostcommand_open(launch, ret);
    if (ret->socket < 0)
        return;
    ret->environment = memfd_create("berth-environment", 0);
    if (ret->environment < 0) {
        close(ret->socket);
        close(ret->programs);
        ret->socket = ret->programs = -1;
        return;
    }
    fcntl(ret->programs, F_SETFD, 0);
    berth_hostcommand_list(ret, 0, NULL, set);
}

int berth_own_become(struct berth_task *task, const struct berth_rendezvous *rendezvous,
                     struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_BUF struct berth_buf limits = {0};
    struct berth_hostcommand hostcommand;
    struct berth_launch launch;
    struct berth_watcher it = {.launch = &launch,
                               .rendezvous = rendezvous,
                               .report = task->order.report,
                               .hostcommand = &hostcommand};
    char init[BERTH_PROGRAM_NAME];
    int fd, handover, watcher, task_stderr;

    if (berth_prepare(task, &launch, err) < 0 || (fd = berth_program_open(err)) < 0 ||
        (it.log = berth_log_open(err)) < 0)
        return -1;
    if (is_apart_for_mpi(&task->order))
        berth_launch_apart(task->environment, &task->binding.set);
    offer_commands(&launch, &hostcommand, &task->binding.set);
    berth_limits_raise(&limits);
    if ((watcher = berth_watcher_start(&it, err)) < 0 ||
        (task_stderr = redirect_stderr(it.log, err)) < 0)
        return -1;
    berth_program_name(fd, init);
    handover = write_handover(task, &launch, &hostcommand, limits.text, watcher,
                              task_stderr, err);
    if (handover >= 0 && berth_launch_argv(&launch, &task->binding.binds, init,
                                           handover, &argv, err) == 0)
        berth_start_become(&launch, argv.items, err);
    dup2(task_stderr, STDERR_FILENO);
    return -1;
}

int berth_own_try(struct berth_task *task, const struct berth_rendezvous *rendezvous,
                  struct berth_err *err)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        berth_own_become(task, rendezvous, err);
        berth_task_fail(task, err);
        _exit(BERTH_REFUSED);
    }
    if (child < 0)
        return berth_err_set(err, "cannot start a process: %s", strerror(errno));
    status = berth_run_wait(child);
    *err = (struct berth_err){0};
    return WIFEXITED(status) ? WEXITSTATUS(status) : BERTH_REFUSED;
}
