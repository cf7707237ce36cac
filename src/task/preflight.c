/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime can carry into a container, looked at before it starts, since it
 * would say what is wrong in its own words. */

#include "task/preflight.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "request/mount.h"
#include "request/path.h"

/* The runtime would look for another name, and say so in its own words. */
static int check_name(const char *option, const char *path, struct berth_err *err)
{
    if (berth_path_is_utf8(path))
        return 0;
    return berth_err_set(err,
                         "%s: '%s': the name is not UTF-8, and the container runtime "
                         "takes no other; rename it",
                         option, path);
}

/* The runtime's own words for another file name a loop device, or nothing. */
static int check_squashfs(const char *path, struct berth_err *err)
{
    static const char magic[] = "hsqs";
    BERTH_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char first[sizeof(magic) - 1];

    if (fd < 0)
        return berth_err_set(err, "--container-mounts: '%s': %s", path,
                             strerror(errno));
    if (read(fd, first, sizeof(first)) != sizeof(first) ||
        memcmp(first, magic, sizeof(first)) != 0)
        return berth_err_set(err,
                             "--container-mounts: '%s' is not a squashfs file; make "
                             "one with 'mksquashfs DIR FILE'",
                             path);
    return 0;
}

static int check_mount(const struct berth_mount *mount, struct berth_err *err)
{
    static const char option[] = "--container-mounts";

    if (check_name(option, mount->source, err) < 0 ||
        check_name(option, mount->destination, err) < 0)
        return -1;
    if (access(mount->source, F_OK) < 0)
        return berth_err_set(err,
                             "%s: '%s': %s; expected a file or directory of the "
                             "host, on every node",
                             option, mount->source, strerror(errno));
    return mount->mode == BERTH_MOUNT_SQSH ? check_squashfs(mount->source, err) : 0;
}

static int check_mounts(const struct berth_strvec *mounts, struct berth_err *err)
{
    for (size_t i = 0; i < mounts->count; i++) {
        struct berth_mount mount;
        int failed;

        if (berth_mount_parse(mounts->items[i], NULL, &mount, err) < 0)
            return -1;
        failed = check_mount(&mount, err);
        berth_mount_fini(&mount);
        if (failed)
            return -1;
    }
    return 0;
}

int berth_preflight_check(const struct berth_request *request, struct berth_err *err)
{
    if (check_name("--container-image", request->image, err) < 0)
        return -1;
    return check_mounts(&request->mounts, err);
}
