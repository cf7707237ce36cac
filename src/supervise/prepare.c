/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that everything is there that a container needs. */

#include "supervise/prepare.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan/gpu.h"
#include "probe/devices.h"
#include "probe/image.h"
#include "probe/runtime.h"
#include "step/identity.h"
#include "supervise/inject.h"
#include "task/preflight.h"

/* $HOME, or what the user database says where it is no directory's name, or Slurm has
 * dropped it (--export=NONE); NULL when neither knows. */
static const char *home_directory(const struct berth_task *task)
{
    const char *home = getenv("HOME");

    return home && *home == '/' ? home : task->home;
}

int berth_prepare(struct berth_task *task, struct berth_launch *ret,
                  struct berth_err *err)
{
    const struct passwd *user = getpwuid(getuid());
    const struct berth_gpu_host gpus = berth_devices_gpus();
    struct berth_gpu_choice gpu;
    char *runtime;

    berth_strvec_fini(&task->mounts); /* of an earlier call */
    berth_strvec_fini(&task->fabric);
    if (berth_image_check(&task->order.request, err) < 0 ||
        berth_preflight_check(&task->order.request, err) < 0 ||
        berth_gpu_choose(&task->order.request, task->environment, &gpus, &gpu, err) <
            0 ||
        berth_inject_mounts(&task->order.request, &task->mounts, err) < 0 ||
        berth_inject_fabric(&task->order.request, &task->order.terms, &task->fabric,
                            err) < 0 ||
        berth_runtime_find(task->runtime, getenv("PATH"), &runtime, err) < 0)
        return -1;
    free(task->runtime);
    task->runtime = runtime;
    if (!task->home && user)
        task->home = strdup(user->pw_dir);
    *ret = (struct berth_launch){
        .order = &task->order,
        .runtime = runtime,
        .home = home_directory(task),
        .directory = task->directory,
        .node = task->node,
        .request = &task->order.request,
        .terms = &task->order.terms,
        .environment = task->environment,
        .mounts = &task->mounts,
        .fabric = &task->fabric,
        .gpu = gpu,
        .command = task->command,
        .unknown_user = !berth_identity_is_known(),
        .account_home = task->home,
    };
    return 0;
}
