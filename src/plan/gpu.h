/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "request/request.h"

/* The GPU drivers of a host (run/prepare.c finds them). */
struct berth_gpu_host {
    bool nvidia; /* BERTH_GPU_NVIDIA_DEVICE is there */
    bool rocm;   /* BERTH_GPU_ROCM_DEVICE is there */
};

/* The device that each driver has once on a host, whatever the number of GPUs. */
#define BERTH_GPU_NVIDIA_DEVICE "/dev/nvidiactl"
#define BERTH_GPU_ROCM_DEVICE   "/dev/kfd"

/* The driver that a container gets, and the reason, for people. */
struct berth_gpu_choice {
    const char *flag; /* of the runtime; NULL: none */
    const char *because;
};

/* Does the process with the environment OWN (ended by NULL) have GPUs? In a job of
 * Slurm it has them if OWN has the variables that slurmstepd sets for a step, or a
 * batch script, with GPUs. Outside of jobs it has all GPUs of the host. */
bool berth_gpu_is_given(char *const *own);

/* Choose the driver for REQUEST in a process with the environment OWN on HOST. Returns
 * 0, or -1 with a sentence in ERR if REQUEST names a driver that HOST does not have. */
int berth_gpu_choose(const struct berth_request *request, char *const *own,
                     const struct berth_gpu_host *host,
                     struct berth_gpu_choice *ret_choice, struct berth_err *err);
