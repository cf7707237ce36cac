/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "plan/gpu.h"
#include "task/task.h"

/* Find what CDI devices bring into the container of TASK. The host must have the
 * devices of the request and the step's GPUs; it may be without those of the site and
 * those of profiles (BY_PROFILE). Fills `devices` of TASK, and appends their mounts to
 * `fabric` of TASK, except where the request or a profile mounts something. *RET_GPU
 * says what brings the driver of the GPUs. Returns 0, or -1 with a sentence in ERR. */
int berth_devicelist_make(struct berth_task *task,
                          const struct berth_strvec *by_profile,
                          struct berth_gpu_choice *ret_gpu, struct berth_err *err);
