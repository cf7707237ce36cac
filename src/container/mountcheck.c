/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the mounts of a container with their sources. */

#include "container/mountcheck.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "request/path.h"

/* Add PATH for berth-init. */
static void add_place(struct berth_mountcheck *check, const char *path)
{
    berth_buf_add(&check->places, path, strlen(path) + 1);
    check->count++;
}

static void look_at(const char *path, struct stat *ret)
{
    if (stat(path, ret) < 0)
        *ret = (struct stat){0};
}

int berth_mountcheck_begin(const struct berth_launch *launch,
                           struct berth_mountcheck *ret, struct berth_err *err)
{
    const struct berth_plan_list *mounts = &ret->plan.mounts;

    berth_mountcheck_fini(ret);
    if (berth_launch_mounts(launch, NULL, &ret->plan, err) < 0)
        return -1;
    ret->sources = calloc(mounts->count + 1, sizeof(*ret->sources));
    if (!ret->sources)
        return berth_err_oom(err);
    for (size_t i = 0; i < mounts->count; i++) {
        const struct berth_plan_item *mount = &mounts->items[i];

        if (berth_mount_has_source(mount->mode))
            look_at(mount->source, &ret->sources[i]);
        add_place(ret, mount->destination);
        if (mount->mode == BERTH_MOUNT_SQSH) {
            BERTH_FREE char *above = berth_path_beside(mount->destination, "");

            add_place(ret, above ? above : "/");
        }
    }
    if (ret->places.failed)
        return berth_err_oom(err);
    if (ret->places.used > BERTH_MOUNTCHECK_MOST) /* too many to be anybody's */
        ret->count = ret->places.used = 0;
    return 0;
}

/* May the container show at its place what SEEN says, where SOURCE is mounted? */
static bool is_source(const struct berth_mountcheck_seen *seen,
                      const struct stat *source)
{
    bool is_device = S_ISCHR(source->st_mode) || S_ISBLK(source->st_mode);
    bool is_same_file = seen->device == source->st_dev && seen->inode == source->st_ino;

    if (source->st_nlink == 0)
        return true; /* nobody could look at it */
    return is_same_file || (is_device && seen->special == source->st_rdev);
}

/* Does the file system of PATH show another file to each process (proc), or another one
 * after a first look (autofs)? */
static bool is_changing(const char *path)
{
    struct statfs status;

    if (statfs(path, &status) < 0)
        return true;
    return status.f_type == PROC_SUPER_MAGIC || status.f_type == AUTOFS_SUPER_MAGIC;
}

/* Is SEEN what is at PATH now? The file may have been replaced since the runtime
 * mounted it, or its file system mounted when the runtime looked at it. */
static bool is_source_now(const struct berth_mountcheck_seen *seen, const char *path)
{
    BERTH_FREE char *inside = NULL;
    struct stat now, entered;

    if (asprintf(&inside, "%s/.", path) < 0) {
        inside = NULL;
        return true;
    }
    look_at(path, &now);
    if (is_source(seen, &now))
        return true;
    look_at(inside, &entered);
    if (entered.st_nlink > 0 && is_source(seen, &entered))
        return true;
    return is_changing(path);
}

/* Is the place of SEEN in another file system than the directory ABOVE it? Nobody can
 * tell: true. */
static bool has_squashfs(const struct berth_mountcheck_seen *seen,
                         const struct berth_mountcheck_seen *above)
{
    return above->error || above->device != seen->device;
}

/* What is wrong with MOUNT, for messages; NULL: nothing, or it cannot be known. ABOVE:
 * the directory above its place. */
static const char *find_problem(const struct berth_plan_item *mount,
                                const struct stat *source,
                                const struct berth_mountcheck_seen *seen,
                                const struct berth_mountcheck_seen *above)
{
    bool is_missing =
        seen->error == ENOENT || seen->error == ENOTDIR || seen->error == ELOOP;

    if (is_missing)
        return "has no";
    if (seen->error || mount->mode == BERTH_MOUNT_TMPFS)
        return NULL;
    if (mount->mode == BERTH_MOUNT_SQSH)
        return has_squashfs(seen, above) ? NULL
                                         : "does not show the files of the source at";
    if (!is_source(seen, source) && !is_source_now(seen, mount->source))
        return "shows something else at";
    if (mount->mode == BERTH_MOUNT_RO && !seen->is_read_only)
        return "could write to";
    return NULL;
}

/* Write that the container, because of PROBLEM, has not MOUNT. */
static int refuse(const struct berth_plan_item *mount, const char *problem,
                  struct berth_err *err)
{
    BERTH_FREE char *real = realpath(mount->destination, NULL);
    bool is_link = real && strcmp(real, mount->destination) != 0;
    struct berth_err remedy;

    if (strcmp(mount->from, BERTH_FROM_USER) != 0)
        berth_err_set(&remedy, "ask the administrators");
    else if (is_link)
        berth_err_set(&remedy, "it leads through a symbolic link: mount it at '%s'",
                      real);
    else
        berth_err_set(&remedy,
                      "something else is mounted there (--container-args, variables "
                      "APPTAINER_*); choose another place");
    return berth_err_set(err, "mount '%s:%s': the container %s '%s'; %s", mount->source,
                         mount->destination, problem, mount->destination, remedy.text);
}

/* Has somebody asked for MOUNT? What berth mounts for itself is looked at by those who
 * use it: without the staged MPI, say, a step may run on the image's own. */
static bool is_promised(const struct berth_plan_item *mount)
{
    if (mount->mode == BERTH_MOUNT_UMOUNT)
        return false;
    return strcmp(mount->from, BERTH_FROM_USER) == 0 ||
           strcmp(mount->from, BERTH_FROM_SITE) == 0;
}

int berth_mountcheck_compare(const struct berth_mountcheck *check,
                             const struct berth_mountcheck_seen *seen,
                             struct berth_err *err)
{
    if (check->count == 0)
        return 0;
    for (size_t i = 0; i < check->plan.mounts.count; i++) {
        const struct berth_plan_item *mount = &check->plan.mounts.items[i];
        bool has_above = mount->mode == BERTH_MOUNT_SQSH;
        const char *problem = find_problem(mount, &check->sources[i], seen, seen + 1);

        if (problem && is_promised(mount))
            return refuse(mount, problem, err);
        seen += has_above ? 2 : 1;
    }
    return 0;
}

void berth_mountcheck_fini(struct berth_mountcheck *check)
{
    berth_plan_fini(&check->plan);
    free(check->sources);
    berth_buf_fini(&check->places);
    *check = (struct berth_mountcheck){0};
}
