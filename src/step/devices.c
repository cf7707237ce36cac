/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the devices of this host by their names. */

#include "step/devices.h"

#include <glob.h>
#include <string.h>
#include <unistd.h>

int berth_devices_find(const struct berth_strvec *patterns, struct berth_strvec *mounts,
                       struct berth_err *err)
{
    for (size_t i = 0; i < patterns->count; i++) {
        glob_t found;

        if (glob(patterns->items[i], 0, NULL, &found) != 0)
            continue;
        for (size_t j = 0; j < found.gl_pathc; j++)
            if (!strchr(found.gl_pathv[j], ':')) /* which separates source and target */
                berth_strvec_pushf(mounts, "%s:%s:rw", found.gl_pathv[j],
                                   found.gl_pathv[j]);
        globfree(&found);
    }
    return mounts->failed ? berth_err_oom(err) : 0;
}

struct berth_gpu_host berth_devices_gpus(void)
{
    return (struct berth_gpu_host){
        .nvidia = access(BERTH_GPU_NVIDIA_DEVICE, F_OK) == 0,
        .rocm = access(BERTH_GPU_ROCM_DEVICE, F_OK) == 0,
    };
}
