/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "plan/launch.h"
#include "run/task.h"

/* Check that everything is there that a container of TASK needs: the image, the sources
 * of mounts, the GPUs, the runtime. *RET says how the container is started; what *RET
 * points to belongs to TASK, which remembers it for later calls of its process. Returns
 * 0, or -1 with a sentence in ERR. */
int berth_prepare(struct berth_task *task, struct berth_launch *ret,
                  struct berth_err *err);
