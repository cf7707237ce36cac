/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "plan/launch.h"
#include "task/task.h"

/* Checks that everything is there that a container of TASK needs, and says in RET how
 * it is started. What RET points to belongs to TASK, and lives as long. */
int berth_prepare(struct berth_task *task, struct berth_launch *ret,
                  struct berth_err *err);
