/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which GPU driver of the host a container gets. */

#include "plan/gpu.h"

#include <string.h>

#include "base/environ.h"
#include "base/text.h"

/* The variables that Slurm's gres/gpu sets for a task with GPUs: one of its own, and
 * one for each driver, whichever driver the node has (unless gres.conf has Flags=). An
 * old release set them to NoDevFiles for a task without GPUs. */
static const char *const step_variables[] = {"SLURM_STEP_GPUS", "CUDA_VISIBLE_DEVICES",
                                             "ROCR_VISIBLE_DEVICES",
                                             "GPU_DEVICE_ORDINAL", NULL};
static const char *const job_variables[] = {"SLURM_JOB_GPUS", NULL};

static bool has(char *const *own, const char *const *names)
{
    for (; *names; names++) {
        const char *value = berth_environ_value(own, *names);

        if (value && *value && strcmp(value, "NoDevFiles") != 0)
            return true;
    }
    return false;
}

bool berth_gpu_is_given(char *const *own)
{
    bool is_in_job = berth_environ_value(own, "SLURM_JOB_ID");
    bool is_in_step = berth_environ_value(own, "SLURM_STEP_ID");

    if (!is_in_job || has(own, step_variables))
        return true;
    return !is_in_step && has(own, job_variables);
}

/* For --container-gpu=auto. */
static struct berth_gpu_choice choose(char *const *own,
                                      const struct berth_gpu_host *host)
{
    if (!host->nvidia && !host->rocm)
        return (struct berth_gpu_choice){NULL, "neither " BERTH_GPU_NVIDIA_DEVICE
                                               " nor " BERTH_GPU_ROCM_DEVICE
                                               " is on this host"};
    if (!berth_gpu_is_given(own))
        return (struct berth_gpu_choice){NULL, "the step has no GPUs on this node"};
    if (host->nvidia)
        return (struct berth_gpu_choice){
            "--nv", "there are GPUs for it, and " BERTH_GPU_NVIDIA_DEVICE};
    return (struct berth_gpu_choice){
        "--rocm", "there are GPUs for it, and " BERTH_GPU_ROCM_DEVICE};
}

static int refuse(const char *kind, const char *driver, const char *device,
                  struct berth_err *err)
{
    return berth_err_set(err,
                         "--container-gpu=%s: this host has no %s driver (there is no "
                         "%s); ask for a node that has one, or leave the option out",
                         kind, driver, device);
}

int berth_gpu_choose(const struct berth_request *request, char *const *own,
                     const struct berth_gpu_host *host,
                     struct berth_gpu_choice *ret_choice, struct berth_err *err)
{
    bool is_nvidia = berth_text_lists(request->gpu, BERTH_GPU_NVIDIA);
    bool is_rocm = berth_text_lists(request->gpu, BERTH_GPU_ROCM);

    if (is_nvidia && !host->nvidia)
        return refuse(BERTH_GPU_NVIDIA, "NVIDIA", BERTH_GPU_NVIDIA_DEVICE, err);
    if (is_rocm && !host->rocm)
        return refuse(BERTH_GPU_ROCM, "ROCm", BERTH_GPU_ROCM_DEVICE, err);
    if (!request->gpu || berth_text_lists(request->gpu, BERTH_GPU_AUTO)) {
        *ret_choice = choose(own, host);
        return 0;
    }
    *ret_choice = (struct berth_gpu_choice){NULL, "it was asked for"};
    if (is_nvidia)
        ret_choice->flag = "--nv";
    else if (is_rocm)
        ret_choice->flag = "--rocm";
    return 0;
}
