/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that everything is there that a container needs, before the runtime starts:
 * the runtime would report an error in its own words. */

#include "run/task.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/text.h"
#include "image/image.h"
#include "image/workdir.h"
#include "container/runtime.h"
#include "request/mount.h"
#include "run/binder.h"
#include "run/places.h"

/* The runtime would change the name, and not find the changed one. */
static int check_name(const char *option, const char *path, struct berth_err *err)
{
    if (berth_json_is_utf8(path))
        return 0;
    return berth_err_set(err,
                         "%s: '%s': the name is not UTF-8, and the container runtime "
                         "takes no other; rename it",
                         option, path);
}

/* For a file that is not squashfs, the runtime reports an error of a loop device, or
 * nothing. */
static int check_squashfs(const char *path, struct berth_err *err)
{
    static const char magic[] = "hsqs";
    BERTH_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char first[sizeof(magic) - 1];
    bool is_read = read(fd, first, sizeof(first)) == sizeof(first);

    if (is_read && memcmp(first, magic, sizeof(first)) == 0)
        return 0;
    return berth_err_set(err,
                         "--container-mounts: '%s' is not a squashfs file; make "
                         "one with 'mksquashfs DIR FILE'",
                         path);
}

static int check_mount(const struct berth_mount *mount, struct berth_err *err)
{
    static const char option[] = "--container-mounts";
    const bool is_squashfs = mount->mode == BERTH_MOUNT_SQSH;
    int wanted = F_OK; /* the runtime mounts a directory that nobody may list, too */

    if (is_squashfs)
        wanted = R_OK;
    if (check_name(option, mount->source, err) < 0 ||
        check_name(option, mount->destination, err) < 0)
        return -1;
    if (!berth_mount_has_source(mount->mode))
        return 0;
    if (access(mount->source, F_OK) < 0 && errno == ENOENT)
        return berth_err_set(
            err,
            "%s: '%s': the source path does not exist; expected a file "
            "or directory of the host, on every node",
            option, mount->source);
    if (access(mount->source, wanted) < 0)
        return berth_err_set(err,
                             "%s: '%s': %s; expected a file or directory of the "
                             "host, on every node",
                             option, mount->source, strerror(errno));
    if (!is_squashfs)
        return 0;
    return check_squashfs(mount->source, err);
}

/* Can the runtime use the names of the image and of the mounts, and is the source of
 * each mount there? */
static int check_paths(const struct berth_request *request, struct berth_err *err)
{
    if (check_name("--container-image", request->image, err) < 0)
        return -1;
    for (size_t i = 0; i < request->mounts.count; i++) {
        BERTH_MOUNT struct berth_mount mount = {0};

        if (berth_mount_parse(request->mounts.items[i], NULL, &mount, err) < 0 ||
            check_mount(&mount, err) < 0)
            return -1;
    }
    return 0;
}

/* Does MOUNT mount a path in /dev over itself? */
static bool is_device(const char *mount)
{
    size_t length = strcspn(mount, ":");
    const char *destination = mount + length + 1;

    if (!berth_text_starts(mount, "/dev/") || !mount[length])
        return false;
    return strncmp(mount, destination, length) == 0 && destination[length] == ':';
}

/* Devices by their CDI names are the runtime's. */
static int check_devices(const struct berth_task *task, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec devices = {0};

    berth_request_list_devices(&task->order.request, &devices);
    if (devices.failed)
        return berth_err_oom(err);
    if (devices.count == 0 || berth_runtime_has_flag(task->launch.runtime, "--device"))
        return 0;
    return berth_err_set(err,
                         "--container-gpu: '%s': the container runtime '%s' has no "
                         "--device; it takes Apptainer 1.5 or newer",
                         devices.items[0], task->launch.runtime);
}

/* Can a device that is bound into the container be opened there? Where the runtime
 * brings the host's /dev, it cannot: the runtime mounts each bind nodev (MS_NODEV in
 * addUserbindsMount() of Apptainer 1.0 to 1.5). A bind into a /dev of the container
 * becomes a device. SingularityCE is assumed to do the same; nobody has seen it. If a
 * flag of the user leaves /dev out, no device can be opened. */
static bool may_bind_devices(const struct berth_task *task)
{
    if (berth_request_leaves_dev_out(&task->order.request, task->launch.environment))
        return false;
    return task->order.is_closed || !berth_runtime_brings_dev(task->launch.runtime);
}

/* Drop the mounts of devices that could not be opened. */
static int leave_devices(struct berth_task *task, struct berth_err *err)
{
    struct berth_strvec *fabric = &task->launch.fabric;
    BERTH_STRVEC struct berth_strvec others = {0};

    for (size_t i = 0; i < fabric->count; i++)
        if (!is_device(fabric->items[i]))
            berth_strvec_push(&others, fabric->items[i]);
    if (others.failed)
        return berth_err_oom(err);
    if (others.count == fabric->count || may_bind_devices(task))
        return 0;
    berth_strvec_fini(fabric);
    *fabric = berth_steal(&others);
    return 0;
}

int berth_prepare(struct berth_task *task, struct berth_err *err)
{
    const struct berth_request *request = &task->order.request;
    const struct passwd *user = getpwuid(getuid());
    const struct berth_gpu_host host = {
        .nvidia = access(BERTH_GPU_NVIDIA_DEVICE, F_OK) == 0,
        .rocm = access(BERTH_GPU_ROCM_DEVICE, F_OK) == 0,
    };
    struct berth_launch *launch = &task->launch;
    const char *home = getenv("HOME");
    struct berth_image image;
    char *runtime;

    if (launch->runtime)
        return 0;
    if (berth_image_check(request, &image, err) < 0 ||
        berth_image_find_reader(&image, &launch->reader, err) < 0)
        return -1;
    if (check_paths(request, err) < 0)
        return -1;
    if (berth_binder_mounts(request, &launch->mounts, err) < 0 ||
        berth_binder_fabric(request, &task->order.terms, &launch->fabric, err) < 0)
        return -1;
    if (berth_gpu_choose(request, launch->environment, &host, &launch->gpu, err) < 0)
        return -1;
    if (berth_runtime_find(task->order.runtime, getenv("PATH"), &runtime, err) < 0)
        return -1;
    launch->runtime = runtime;
    launch->image_directory = berth_image_workdir(request->image);
    if (check_devices(task, err) < 0 || leave_devices(task, err) < 0)
        return -1;
    if (user) {
        launch->account_home = strdup(user->pw_dir);
        if (!launch->account_home)
            return berth_err_oom(err);
    }
    launch->home = launch->account_home;
    if (home && *home == '/') /* it may not be set (--export=NONE) */
        launch->home = home;
    launch->unknown_user = !user;
    return berth_places_find(launch, err);
}
