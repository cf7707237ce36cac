/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ipc/rendezvous.h"
#include "run/task.h"

/* Wait for the start of the container of RENDEZVOUS. If it takes long, print on
 * standard error what it is doing, once for the component of TASK: on a terminal one
 * line that is written again, elsewhere a line; and a line with the seconds when tasks
 * can run. Prints nothing where that is the file of the task's output, too. */
void berth_slowstart_watch(const struct berth_task *task,
                           const struct berth_rendezvous *rendezvous);
