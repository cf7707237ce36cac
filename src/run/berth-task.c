/* SPDX-License-Identifier: Apache-2.0 */
/* berth-task: runs in front of the user's command in every task with an image, as the
 * user and with no privilege. It waits until the first task of the step on the node has
 * started the container, joins it, and becomes the command. If there is more to do, it
 * becomes berth-start. A node executes it for each task, so it is linked statically: a
 * loader would take more time than all the rest. */

#include <stdlib.h>

#include "base/fd.h"
#include "container/program.h"
#include "run/task.h"

int main(int argc, char **argv)
{
    struct berth_task task = {.order = BERTH_ORDER_EMPTY};
    struct berth_err err;

    berth_fd_reserve();
    /* In a step, ARGV is the command of the user. */
    if (!getenv(BERTH_TASK_ORDER) &&
        berth_program_prints_version("berth-task", argc, argv))
        return EXIT_SUCCESS;
    if (berth_program_protect(argv, &err) < 0)
        return berth_task_end(&task, -1, &err);
    return berth_task_end(&task, berth_task_run(&task, argv, &err), &err);
}
