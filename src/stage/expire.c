/* SPDX-License-Identifier: Apache-2.0 */
/* Removes stages. stage/stage.c decides which ones are valid. */

#include "stage/expire.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strvec.h"
#include "base/text.h"
#include "stage/stage.h"
#include "base/tree.h"

/* The time of this file is when stages were last removed. */
#define SWEPT ".swept"

enum { DAY = 24 * 60 * 60 };

static DIR *list_root(int root_fd)
{
    int again = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again < 0 ? NULL : fdopendir(again);

    if (again >= 0 && !list)
        close(again);
    return list;
}

/* Is NAME a stage by its name, STACK-HASH? */
static bool is_stage(const char *name)
{
    const char *hash = strrchr(name, '-');

    return *name != '.' && hash && strlen(hash + 1) == 16 &&
           strspn(hash + 1, "0123456789abcdef") == 16;
}

/* The time of the file NAME; NONE if there is no file. */
static time_t time_of(int root_fd, const char *name, time_t none)
{
    struct stat st;

    return fstatat(root_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? none : st.st_mtime;
}

/* Can the next maker continue with what is in NAME (stage/build.h)? */
static bool is_of_use(int root_fd, const char *name)
{
    time_t now = time(NULL);

    return is_stage(name + strlen(BERTH_STAGE_UNFINISHED)) &&
           now - time_of(root_fd, name, 0) < DAY;
}

void berth_expire_unfinished(int root_fd)
{
    DIR *list = list_root(root_fd);

    if (!list)
        return;
    for (struct dirent *entry; (entry = readdir(list));) {
        BERTH_CLOSE int fd = -1;

        if (!berth_text_starts(entry->d_name, BERTH_STAGE_UNFINISHED) ||
            is_of_use(root_fd, entry->d_name))
            continue;
        fd = openat(root_fd, entry->d_name,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            berth_tree_remove(root_fd, entry->d_name);
    }
    closedir(list);
}

static bool is_stale(const struct berth_stage_root *root, int root_fd, const char *name)
{
    BERTH_FREE char *path = NULL;
    time_t now = time(NULL);

    if (root->days && now - time_of(root_fd, name, now) > (time_t)root->days * DAY)
        return true;
    return asprintf(&path, "%s/%s", root->path, name) > 0 &&
           !berth_stage_is_valid(root, path);
}

static void find_stale(const struct berth_stage_root *root, int root_fd,
                       struct berth_strvec *stale)
{
    DIR *list = list_root(root_fd);

    if (!list)
        return;
    for (struct dirent *entry; (entry = readdir(list));)
        if (is_stage(entry->d_name) && is_stale(root, root_fd, entry->d_name))
            berth_strvec_push(stale, entry->d_name);
    closedir(list);
}

/* In a root that others may open, anybody can keep an exclusive lock. Then this process
 * uses the root without a lock. */
static void lock_shared(const struct berth_stage_root *root, int root_fd)
{
    bool is_private = (root->forbidden & 0077) == 0077;

    flock(root_fd, is_private ? LOCK_SH : LOCK_SH | LOCK_NB);
}

/* Renames the stages, under the exclusive lock, so that no step finds them. */
static void put_aside(int root_fd, const struct berth_strvec *stale)
{
    for (size_t i = 0; i < stale->count; i++) {
        char name[64];

        snprintf(name, sizeof(name), BERTH_STAGE_UNFINISHED "%d-old-%zu", getpid(), i);
        renameat(root_fd, stale->items[i], root_fd, name);
    }
}

/* Removes stages, and leaves ROOT_FD with a shared lock. */
static void expire(const struct berth_stage_root *root, int root_fd)
{
    BERTH_STRVEC struct berth_strvec stale = {0};

    find_stale(root, root_fd, &stale);
    if (stale.count > 0 && flock(root_fd, LOCK_EX | LOCK_NB) == 0)
        put_aside(root_fd, &stale);
    lock_shared(root, root_fd);
    berth_expire_unfinished(root_fd);
}

/* Was the last removal at least a day ago? Then notes that one happens now. */
static bool is_due(int root_fd)
{
    time_t now = time(NULL);
    BERTH_CLOSE int fd = -1;

    if (now - time_of(root_fd, SWEPT, 0) < DAY)
        return false;
    fd = openat(root_fd, SWEPT, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd >= 0 && futimens(fd, NULL) == 0;
}

void berth_expire_lock(const struct berth_stage_root *root, int root_fd)
{
    if (root->owner == geteuid() && is_due(root_fd))
        expire(root, root_fd);
    else
        lock_shared(root, root_fd);
}

void berth_expire(const struct berth_stage_root *root)
{
    BERTH_CLOSE int fd =
        berth_tree_open(root->path, root->owner, root->forbidden, NULL, NULL);

    if (fd >= 0)
        expire(root, fd);
}
