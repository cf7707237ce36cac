/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "plan/gpu.h"

/* Append to MOUNTS PATH:PATH:rw for each path that matches one of PATTERNS (glob(7)),
 * except a path with a colon. Returns 0, or -1 when out of memory. */
int berth_devices_find(const struct berth_strvec *patterns, struct berth_strvec *mounts,
                       struct berth_err *err);

/* The GPU drivers of this host, which it has if their devices exist. */
struct berth_gpu_host berth_devices_gpus(void);
