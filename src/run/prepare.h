/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "run/task.h"

/* Check that everything is there that a container of TASK needs: the image, the sources
 * of mounts, the GPUs, the runtime. Then `launch` of TASK says how the container is
 * started; later calls change nothing. Returns 0, or -1 with a sentence in ERR. */
int berth_prepare(struct berth_task *task, struct berth_err *err);
