/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and removes the directory for what tasks write to an image. */

#include "container/overlay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/directory.h"
#include "base/deadline.h"
#include "base/run.h"
#include "base/text.h"
#include "base/tree.h"
#include "container/start.h"

/* What berth makes in such a directory. */
#define UPPER "upper"
#define WORK  "work"
#define LOCK  "lock"
#define USE   "use" /* of a directory that several containers use, one after another */
static const char *const parts[] = {UPPER, WORK, USE, LOCK, NULL};

/* What is in a directory. */
struct content {
    bool has_lock;
    bool has_parts;  /* a file or directory that berth makes */
    bool has_others; /* of somebody else, or nobody could list them */
};

/* Note that the directory has NAME. */
static void note(const char *name, struct content *content)
{
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return;
    if (strcmp(name, LOCK) == 0)
        content->has_lock = true;
    if (berth_text_is_any(name, parts))
        content->has_parts = true;
    else
        content->has_others = true;
}

static struct content list_content(int dir)
{
    BERTH_CLOSEDIR DIR *list = berth_tree_list(dir, ".");
    struct content content = {.has_others = !list};
    const struct dirent *entry = berth_directory_next(list);

    while (entry) {
        note(entry->d_name, &content);
        entry = berth_directory_next(list);
    }
    return content;
}

/* Remove what berth has made in DIR, the lock last, and then the directory NAME below
 * TOP. Somebody may have put another directory there meanwhile: that stays, unless it
 * is empty. */
static void remove_parts(int dir, int top, const char *name)
{
    for (const char *const *part = parts; *part; part++)
        berth_tree_remove(dir, *part);
    unlinkat(top, name, AT_REMOVEDIR);
}

void berth_overlay_remove(struct berth_overlay *overlay)
{
    if (!overlay->path)
        return;
    if (overlay->lock >= 0) {
        remove_parts(overlay->directory, AT_FDCWD, overlay->path);
        close(overlay->lock);
    } else {
        rmdir(overlay->path); /* nothing was made in it */
    }
    if (overlay->directory >= 0)
        close(overlay->directory);
    free(overlay->path);
    *overlay = BERTH_OVERLAY_NONE;
}

struct removal {
    int users; /* a user namespace */
    int directory;
};

/* In a child: enter the user namespace, as whose root this process may remove the files
 * of all ids that are mapped there. */
static int remove_in(void *data)
{
    const struct removal *removal = data;

    prctl(PR_SET_DUMPABLE, 0); /* a program that is left could trace this process */
    if (setns(removal->users, CLONE_NEWUSER) < 0)
        return EXIT_FAILURE;
    for (const char *const *part = parts; *part; part++)
        if (strcmp(*part, LOCK) != 0)
            berth_tree_remove(removal->directory, *part);
    return EXIT_SUCCESS;
}

void berth_overlay_remove_in(struct berth_overlay *overlay, int users)
{
    struct removal removal = {users, overlay->directory};

    if (overlay->path && overlay->lock >= 0 && users >= 0)
        berth_run_wait(berth_child(remove_in, &removal, 0));
    berth_overlay_remove(overlay);
}

int berth_overlay_use(const char *path, struct berth_err *err)
{
    enum { PATIENCE_MS = 10000, AGAIN_MS = 20 };
    const int64_t end = berth_clock() + PATIENCE_MS;
    BERTH_CLOSE int dir = berth_tree_open(path, geteuid(), 0077, NULL, err);
    int fd;

    if (dir < 0)
        return -1;
    fd = openat(dir, USE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return berth_err_file(err, path, "written");
    /* some file systems have no locks: there the containers are not distinguished */
    while (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        if (berth_clock() >= end) {
            close(fd);
            return berth_err_set(err, "'%s': another container does not release it",
                                 path);
        }
        poll(NULL, 0, AGAIN_MS);
    }
    return fd;
}

/* Is DIR, of the calling user, a directory of berth's, and its container gone?
 * *RET_LOCK keeps the lock until it is closed. */
static bool is_left(int dir, int *ret_lock)
{
    struct content content = list_content(dir);
    struct stat st;

    *ret_lock = -1;
    if (content.has_others)
        return false;
    if (!content.has_lock)
        return !content.has_parts; /* its maker was killed, or will make another one */
    *ret_lock = openat(dir, LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*ret_lock < 0)
        return false;
    if (fstat(*ret_lock, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    return flock(*ret_lock, LOCK_EX | LOCK_NB) == 0;
}

/* Remove NAME below TOP if it is such a directory. */
static void remove_one(int top, const char *name)
{
    BERTH_CLOSE int dir =
        openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    BERTH_CLOSE int lock = -1;
    struct stat st;

    if (dir < 0 || fstat(dir, &st) < 0 || st.st_uid != geteuid())
        return;
    if (is_left(dir, &lock))
        remove_parts(dir, top, name);
}

/* Remove the directories in TOP whose names begin with START, and whose containers are
 * gone. */
static void remove_left(const char *top, const char *start)
{
    BERTH_CLOSEDIR DIR *list = opendir(top);
    const struct dirent *entry = berth_directory_next(list);

    while (entry) {
        if (berth_text_starts(entry->d_name, start))
            remove_one(dirfd(list), entry->d_name);
        entry = berth_directory_next(list);
    }
}

/* Lock FD, the new file. Returns false if another start has taken its directory for one
 * that is left. Some file systems have no locks: there nothing is removed later. */
static bool hold(int fd)
{
    struct stat st;

    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno != EWOULDBLOCK;
    return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

enum made { MADE, AGAIN, FAILED };

/* Fill the new directory RET->path: the lock, then the rest. */
static enum made fill(struct berth_overlay *ret, struct berth_err *err)
{
    struct content content;

    ret->directory = berth_tree_open(ret->path, geteuid(), 0077, NULL, err);
    if (ret->directory < 0)
        return FAILED;
    content = list_content(ret->directory);
    if (content.has_parts || content.has_others) /* somebody has exchanged it */
        return AGAIN;
    ret->lock = openat(ret->directory, LOCK,
                       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (ret->lock < 0 && errno != ENOENT) {
        berth_err_file(err, ret->path, "written");
        return FAILED;
    }
    if (ret->lock < 0 || !hold(ret->lock))
        return AGAIN;
    if (mkdirat(ret->directory, UPPER, 0755) == 0 &&
        mkdirat(ret->directory, WORK, 0755) == 0)
        return MADE;
    berth_err_file(err, ret->path, "written");
    return FAILED;
}

/* Make TOP/STARTXXXXXX. */
static enum made make(const char *top, const char *start, struct berth_overlay *ret,
                      struct berth_err *err)
{
    enum made made;

    *ret = BERTH_OVERLAY_NONE;
    if (asprintf(&ret->path, "%s/%sXXXXXX", top, start) < 0) {
        *ret = BERTH_OVERLAY_NONE;
        berth_err_oom(err);
        return FAILED;
    }
    if (!mkdtemp(ret->path)) {
        berth_err_set(err,
                      "--container-writable: '%s': %s; set TMPDIR to a directory of "
                      "this node in which you may write",
                      top, strerror(errno));
        free(berth_steal(&ret->path));
        return FAILED;
    }
    made = fill(ret, err);
    if (made != MADE)
        berth_overlay_remove(ret);
    return made;
}

int berth_overlay_make(const char *top, const char *node, struct berth_overlay *ret,
                       struct berth_err *err)
{
    const char *temporary = getenv("TMPDIR");
    BERTH_FREE char *start = NULL;
    enum made made;
    mode_t mask;

    if (!top && temporary && *temporary == '/')
        top = temporary;
    if (!top)
        top = "/tmp";
    if (asprintf(&start, "berth-write.%u.%s.", geteuid(), node) < 0)
        return berth_err_oom(err);
    remove_left(top, start);
    /* the user's own mask may make directories that nobody can use or remove */
    mask = umask(022);
    do {
        made = make(top, start, ret, err);
    } while (made == AGAIN);
    umask(mask);
    if (made != MADE)
        return -1;
    return 0;
}

enum { MIB = 1 << 20 };

/* Does a file system have a MiB, and a file, for an ordinary user? Some count no
 * blocks, or no files. */
static bool has_room(const struct statvfs *room)
{
    if (room->f_blocks == 0)
        return true;
    if (room->f_bavail * room->f_frsize < MIB)
        return false;
    return room->f_files == 0 || room->f_favail > 0;
}

bool berth_overlay_is_full(int fd, struct berth_err *why)
{
    char link[64], path[4096];
    struct statvfs room;
    ssize_t length;
    char *name;

    if (fstatvfs(fd, &room) < 0 || has_room(&room))
        return false;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof(path) - 1);
    if (length < 0)
        length = 0;
    path[length] = '\0';
    name = strrchr(path, '/');
    if (name) /* of the lock, and "(deleted)" after it */
        *name = '\0';
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
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Is the file NAME in DIR the one that LINK leads to (/proc/PID/fd)? */
static bool is_same(int dir, const char *name, const char *link)
{
    struct stat named, open;

    if (fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) < 0 || stat(link, &open) < 0)
        return false;
    return named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

int berth_overlay_upper(pid_t holder)
{
    BERTH_CLOSE int dir = -1;
    char link[64], path[4096];
    struct berth_err unread;
    ssize_t length;
    char *name;

    snprintf(link, sizeof(link), "/proc/%d/fd/%d", holder, BERTH_START_OVERLAY);
    length = readlink(link, path, sizeof(path) - 1);
    path[length < 0 ? 0 : length] = '\0';
    name = strrchr(path, '/');
    if (!name)
        return -1;
    *name++ = '\0';
    /* another process than berth-init could have any path there */
    dir = berth_tree_open(path, geteuid(), 0077, NULL, &unread);
    if (dir < 0 || !is_same(dir, name, link))
        return -1;
    return openat(dir, UPPER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

const char *berth_overlay_by(pid_t holder)
{
    char root[64];
    struct statfs found;

    snprintf(root, sizeof(root), "/proc/%d/root", holder);
    if (statfs(root, &found) == 0 && found.f_type == OVERLAYFS_SUPER_MAGIC)
        return "the kernel";
    return "fuse-overlayfs";
}
