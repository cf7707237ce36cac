/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for GPU drivers. */

#include "probe/gpu.h"

#include <unistd.h>

struct berth_gpu_host berth_gpu_look(void)
{
    return (struct berth_gpu_host){
        .nvidia = access(BERTH_GPU_NVIDIA_DEVICE, F_OK) == 0,
        .rocm = access(BERTH_GPU_ROCM_DEVICE, F_OK) == 0,
    };
}
