/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_PROBE_GPU_H
#define BERTH_PROBE_GPU_H

#include "plan/gpu.h"

/* Which GPU drivers this host has, by their devices. */
struct berth_gpu_host berth_gpu_look(void);

#endif
