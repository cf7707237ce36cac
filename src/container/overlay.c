/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and removes the directory for what tasks write to an image. */

#include "container/overlay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/tree.h"
#include "container/start.h"

void berth_overlay_remove(struct berth_overlay *overlay)
{
    if (!overlay->path)
        return;
    berth_tree_remove(AT_FDCWD, overlay->path);
    close(overlay->fd);
    free(overlay->path);
    *overlay = (struct berth_overlay){NULL, -1};
}

/* Remove each directory in TOP whose name begins with START, and which nobody has
 * locked. */
static void remove_left(const char *top, const char *start)
{
    BERTH_CLOSEDIR DIR *list = opendir(top);
    struct dirent *entry;

    while (list && (entry = readdir(list))) {
        BERTH_CLOSE int fd = -1;
        struct stat st;

        if (!berth_text_starts(entry->d_name, start))
            continue;
        fd = openat(dirfd(list), entry->d_name,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
            flock(fd, LOCK_EX | LOCK_NB) == 0)
            berth_tree_remove(dirfd(list), entry->d_name);
    }
}

/* Lock FD, a new directory. Returns false if another start has taken it for one that is
 * left. Some file systems have no locks: there nothing is removed later. */
static bool hold(int fd)
{
    struct stat st;

    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno != EWOULDBLOCK;
    return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* Make TOP/STARTXXXXXX, not locked yet. */
static int make(const char *top, const char *start, struct berth_overlay *ret,
                struct berth_err *err)
{
    ret->fd = -1;
    if (asprintf(&ret->path, "%s/%sXXXXXX", top, start) < 0)
        return berth_err_oom(err);
    if (mkdtemp(ret->path))
        ret->fd = berth_tree_open(ret->path, geteuid(), 0077, NULL, err);
    else
        berth_err_set(err,
                      "--container-writable: '%s': %s; set TMPDIR to a directory of "
                      "this node in which you may write",
                      top, strerror(errno));
    if (ret->fd >= 0)
        return 0;
    free(berth_steal(&ret->path));
    return -1;
}

int berth_overlay_make(const char *top, const char *node, struct berth_overlay *ret,
                       struct berth_err *err)
{
    const char *temporary = getenv("TMPDIR");
    BERTH_FREE char *start = NULL;

    if (!top)
        top = temporary && *temporary == '/' ? temporary : "/tmp";
    if (asprintf(&start, "berth-write.%u.%s.", geteuid(), node) < 0)
        return berth_err_oom(err);
    remove_left(top, start);
    do {
        berth_overlay_remove(ret);
        if (make(top, start, ret, err) < 0)
            return -1;
    } while (!hold(ret->fd));
    if (mkdirat(ret->fd, "upper", 0755) == 0 && mkdirat(ret->fd, "work", 0755) == 0)
        return 0;
    return berth_err_file(err, ret->path, "written");
}

bool berth_overlay_is_full(int fd, struct berth_err *why)
{
    enum { MIB = 1 << 20, LEAST = MIB };
    char link[64], path[4096];
    struct statvfs room;
    ssize_t length;

    if (fstatvfs(fd, &room) < 0 || room.f_blocks == 0 ||
        (room.f_bavail * room.f_frsize >= LEAST &&
         (room.f_files == 0 || room.f_favail > 0)))
        return false;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof(path) - 1);
    path[length < 0 ? 0 : length] = '\0';
    berth_err_set(why,
                  "the file system of '%s' (%lu MiB), to which tasks write, was full; "
                  "set TMPDIR to a directory of the node with more room",
                  path, room.f_blocks * room.f_frsize / MIB);
    return true;
}

int berth_overlay_open(pid_t holder)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", holder, BERTH_START_OVERLAY);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

const char *berth_overlay_by(pid_t holder)
{
    char root[64];
    struct statfs found;

    snprintf(root, sizeof(root), "/proc/%d/root", holder);
    return statfs(root, &found) == 0 && found.f_type == OVERLAYFS_SUPER_MAGIC
               ? "the kernel"
               : "fuse-overlayfs";
}
