/* SPDX-License-Identifier: Apache-2.0 */
/* berth-task: runs in front of the user's command in every task with an image, as the
 * user and with no privilege. It waits until the first task of the step on the node has
 * started the container, joins it, and becomes the command. If there is more to do, it
 * becomes berth-start. A node executes it for each task, so it is linked statically: a
 * loader would take more time than all the rest. */

#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/installed.h"
#include "step/program.h"
#include "step/rendezvous.h"
#include "run/task.h"

/* Has another task started the container of this task, and is it READY? */
static bool is_ready(const struct berth_task *task, struct berth_rendezvous *rendezvous)
{
    const struct berth_order *order = &task->order;
    struct berth_err err;

    *rendezvous = berth_task_rendezvous(task);
    if (!berth_request_has_container(&order->request) || order->memory < 0 ||
        berth_request_is_explained(&order->request) ||
        berth_rendezvous_map(rendezvous, &err) < 0 ||
        berth_rendezvous_claim(rendezvous) ||
        berth_rendezvous_wait(rendezvous, &err) != BERTH_RENDEZVOUS_READY)
        return false;
    berth_rendezvous_leave(rendezvous);
    return true;
}

/* Returns as berth_joined_become(). */
static int run(struct berth_task *task, char **argv, struct berth_err *err)
{
    struct berth_rendezvous rendezvous;
    const char *order = getenv(BERTH_TASK_ORDER);
    const char *start;

    if (order && berth_task_read(task, argv, err) == 0 && is_ready(task, &rendezvous))
        return berth_task_hide_launcher(task, err) < 0
                   ? -1
                   : berth_joined_become(task, &rendezvous, err);
    if (order && setenv(BERTH_TASK_ORDER, order, 1) < 0)
        return berth_err_oom(err);
    start = berth_installed(BERTH_LIBEXECDIR "/berth-start");
    argv[0] = (char *)start;
    execv(start, argv);
    return berth_program_missing(start, err);
}

int main(int argc, char **argv)
{
    struct berth_task task = {.order = BERTH_ORDER_EMPTY};
    struct berth_err err;

    berth_fd_reserve();
    /* In a step, ARGV is the command of the user. */
    if (!getenv(BERTH_TASK_ORDER) &&
        berth_program_prints_version("berth-task", argc, argv))
        return EXIT_SUCCESS;
    return berth_task_end(&task, run(&task, argv, &err), &err);
}
