/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the CDI devices that a container gets, and what they bring. Apptainer 1.5 reads
 * specifications too (--device): it makes the same mounts and variables, runs no hooks
 * either, and reads files that berth has not checked. So berth reads them for each
 * runtime. */

#include "supervise/devicelist.h"

#include <stdbool.h>

#include "base/buf.h"
#include "policy/mountrules.h"
#include "probe/cdi.h"
#include "probe/devices.h"
#include "probe/siteread.h"

/* May the GPUs of the task be CDI devices? */
static bool wants_gpus(const struct berth_task *task)
{
    return task->order.terms.gpus.count && berth_gpu_is_auto(&task->order.request) &&
           berth_gpu_is_given(task->environment);
}

/* Read the specifications if anything asks for a device. */
static int read_wanted(const struct berth_task *task,
                       const struct berth_strvec *by_profile, struct berth_cdi *ret,
                       struct berth_err *err)
{
    if (!task->order.request.devices.count && !task->order.terms.devices.count &&
        !by_profile->count && !wants_gpus(task))
        return 0;
    return berth_cdi_read("", berth_site_owner(), ret, err);
}

static int add_all(const struct berth_cdi *cdi, const struct berth_strvec *names,
                   enum berth_cdi_need need, struct berth_cdi_edits *edits,
                   struct berth_err *err)
{
    for (size_t i = 0; i < names->count; i++)
        if (berth_cdi_add(cdi, names->items[i], need, edits, err) < 0)
            return -1;
    return names->failed ? berth_err_oom(err) : 0;
}

/* Append to RET the device KIND=all; if there is none, each device of KIND. */
static void list_all(const struct berth_cdi *cdi, const char *kind,
                     struct berth_strvec *ret)
{
    BERTH_STRVEC struct berth_strvec names = {0};
    BERTH_BUF struct berth_buf all = {0};

    berth_cdi_list(cdi, kind, &names);
    berth_buf_addf(&all, "%s=all", kind);
    ret->failed |= names.failed || all.failed;
    if (!all.failed && berth_strvec_has(&names, all.text))
        berth_strvec_push(ret, all.text);
    else
        berth_strvec_append(ret, &names);
}

/* Add the GPUs of the step, which are devices of KIND. */
static int add_gpus(const struct berth_task *task, const struct berth_cdi *cdi,
                    const char *kind, struct berth_cdi_edits *edits,
                    struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec gpus = {0};
    BERTH_STRVEC struct berth_strvec names = {0};

    berth_gpu_list(task->environment, task->order.container.tasks > 1, &gpus);
    for (size_t i = 0; i < gpus.count; i++)
        berth_strvec_pushf(&names, "%s=%s", kind, gpus.items[i]);
    names.failed |= gpus.failed;
    if (gpus.count == 0)
        list_all(cdi, kind, &names);
    if (add_all(cdi, &names, BERTH_CDI_REQUIRED, edits, err) == 0)
        return 0;
    return berth_err_at(err, "--container-gpu=" BERTH_GPU_AUTO);
}

/* Choose what brings the driver of the GPUs: CDI devices if there is a specification of
 * such, else the runtime. */
static int choose_gpu(struct berth_task *task, const struct berth_cdi *cdi,
                      struct berth_gpu_choice *ret, struct berth_err *err)
{
    const struct berth_strvec *kinds = &task->order.terms.gpus;
    struct berth_gpu_host host = berth_devices_gpus();

    for (size_t i = 0; i < kinds->count && !host.kind; i++)
        if (berth_cdi_has_kind(cdi, kinds->items[i]))
            host.kind = kinds->items[i];
    if (!host.kind && cdi->faults.count && wants_gpus(task))
        berth_strvec_pushf(&task->devices.undone, "GPUs as devices: %s",
                           cdi->faults.items[0]);
    return berth_gpu_choose(&task->order.request, task->environment, &host, ret, err);
}

static int push_mounts(struct berth_task *task, struct berth_err *err)
{
    const struct berth_strvec *mounts = &task->devices.mounts;

    for (size_t i = 0; i < mounts->count; i++)
        if (!berth_mountrules_has_destination(&task->order.request.mounts,
                                              mounts->items[i]) &&
            !berth_mountrules_has_destination(&task->fabric, mounts->items[i]))
            berth_strvec_push(&task->fabric, mounts->items[i]);
    return task->fabric.failed ? berth_err_oom(err) : 0;
}

int berth_devicelist_make(struct berth_task *task,
                          const struct berth_strvec *by_profile,
                          struct berth_gpu_choice *ret_gpu, struct berth_err *err)
{
    BERTH_CDI struct berth_cdi cdi = {0};
    struct berth_cdi_edits *edits = &task->devices;

    berth_cdi_edits_fini(edits); /* of an earlier call that failed */
    if (read_wanted(task, by_profile, &cdi, err) < 0 ||
        choose_gpu(task, &cdi, ret_gpu, err) < 0)
        return -1;
    if (add_all(&cdi, &task->order.request.devices, BERTH_CDI_REQUIRED, edits, err) < 0)
        return berth_err_at(err, "--container-device");
    if ((ret_gpu->kind && add_gpus(task, &cdi, ret_gpu->kind, edits, err) < 0) ||
        add_all(&cdi, &task->order.terms.devices, BERTH_CDI_WHERE_THERE, edits, err) <
            0 ||
        add_all(&cdi, by_profile, BERTH_CDI_WHERE_THERE, edits, err) < 0 ||
        berth_cdi_link(edits, err) < 0)
        return -1;
    return push_mounts(task, err);
}
