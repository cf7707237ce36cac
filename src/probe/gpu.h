/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "plan/gpu.h"

/* Which GPU drivers this host has, by their devices. */
struct berth_gpu_host berth_gpu_look(void);
