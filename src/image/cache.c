/* SPDX-License-Identifier: Apache-2.0 */
/* Manages the directories of pulls: who can write to them, and that one pull of an
 * image runs at a time. */

#include "image/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/progress.h"
#include "base/tree.h"
#include "image/store.h"

/* The sentence for what the system refuses at PATH, a part of the cache. */
static int refuse(const char *path, struct berth_err *err)
{
    return berth_err_set(
        err,
        "'%s': %s; images are pulled into a directory that you can write, with locks "
        "(images.cache or images.store in berth.yaml, or XDG_CACHE_HOME)",
        path, strerror(errno));
}

/* Open the directory PATH if nobody but the user can write to it. */
static int open_own(const char *path, int *ret_missing, struct berth_err *err)
{
    return berth_tree_open(path, geteuid(), 0022, ret_missing, err);
}

/* "/." follows a link to a larger file system; the directory itself is still checked.
 */
int berth_cache_directory(const char *cache, int *ret_missing, struct berth_err *err)
{
    BERTH_FREE char *path = NULL;

    if (asprintf(&path, "%s/.", cache) < 0) {
        path = NULL;
        return berth_err_oom(err);
    }
    return open_own(path, ret_missing, err);
}

/* The result of a search in a directory that is not there, or cannot be used: one that
 * is MISSING has no image. */
static int ignore_missing(int missing)
{
    return missing ? 0 : -1;
}

int berth_cache_find(const char *cache, const char *uri, const char *machine,
                     char **ret_file, struct berth_err *err)
{
    BERTH_FREE char *index = NULL;
    BERTH_CLOSE int above = -1, dir = -1;
    int missing = 0;

    *ret_file = NULL;
    above = berth_cache_directory(cache, &missing, err);
    if (above < 0)
        return ignore_missing(missing);
    if (asprintf(&index, "%s/index", cache) < 0)
        return berth_err_oom(err);
    dir = open_own(index, &missing, err);
    if (dir < 0)
        return ignore_missing(missing);
    return berth_store_look(cache, uri, machine, ret_file, err);
}

/* Make PATH and its parents, each for the user alone. */
static int make_path(const char *path, struct berth_err *err)
{
    BERTH_FREE char *copy = strdup(path);

    if (!copy)
        return berth_err_oom(err);
    for (char *at = strchr(copy + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(copy, 0700);
        *at = '/';
    }
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return refuse(path, err);
    return 0;
}

int berth_cache_open(const char *cache, const char *name, struct berth_cache *ret,
                     struct berth_err *err)
{
    BERTH_CLOSE int above = -1;

    if (make_path(cache, err) < 0)
        return -1;
    above = berth_cache_directory(cache, NULL, err);
    if (above < 0)
        return -1;
    if (asprintf(&ret->path, "%s/work/%s", cache, name) < 0) {
        ret->path = NULL;
        return berth_err_oom(err);
    }
    if (make_path(ret->path, err) < 0)
        return -1;
    ret->dir = open_own(ret->path, NULL, err);
    if (ret->dir < 0)
        return -1;
    return 0;
}

/* Lock the open file (F_OFD_SETLK): this works over NFS, and closing another descriptor
 * of the file does not end the lock. */
static int set_lock(int fd, int command)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int result;

    do
        result = fcntl(fd, command, &lock);
    while (result < 0 && errno == EINTR);
    return result;
}

/* Does ERRNO of fcntl(2) say that another one has the lock? */
static bool is_held(int number)
{
    return number == EAGAIN || number == EACCES;
}

/* Wait for the lock that another pull has. A terminal sees for how long already. */
static int wait_for_lock(int fd, struct berth_progress *progress)
{
    const struct timespec moment = {.tv_nsec = 200000000};
    int result;

    if (progress->terminal < 0)
        return set_lock(fd, F_OFD_SETLKW);
    result = set_lock(fd, F_OFD_SETLK);
    while (result < 0 && is_held(errno)) {
        berth_progress_show(progress, "");
        nanosleep(&moment, NULL);
        result = set_lock(fd, F_OFD_SETLK);
    }
    berth_progress_clear(progress);
    return result;
}

int berth_cache_lock(struct berth_cache *cache, int terminal,
                     void (*say)(const char *sentence), const char *uri,
                     struct berth_err *err)
{
    struct berth_progress progress;

    cache->lock =
        openat(cache->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (cache->lock < 0)
        return refuse(cache->path, err);
    if (set_lock(cache->lock, F_OFD_SETLK) == 0)
        return 0;
    if (!is_held(errno))
        return refuse(cache->path, err);

    berth_progress_begin(&progress, terminal, say,
                         "image '%s': another pull of it is under way; waiting for it",
                         uri);
    if (wait_for_lock(cache->lock, &progress) < 0)
        return refuse(cache->path, err);
    return 0;
}

int berth_cache_begin(const struct berth_cache *cache, struct berth_err *err)
{
    berth_tree_remove(cache->dir, "part");
    berth_tree_remove(cache->dir, "layers/cache/oci-tmp");
    unlinkat(cache->dir, BERTH_CACHE_MANIFESTS, 0);
    if (mkdirat(cache->dir, "part", 0700) < 0 ||
        (mkdirat(cache->dir, "layers", 0700) < 0 && errno != EEXIST))
        return refuse(cache->path, err);
    return 0;
}

void berth_cache_drop(const struct berth_cache *cache, enum berth_cache_keep keep)
{
    berth_tree_remove(cache->dir, "part");
    if (keep == BERTH_CACHE_KEEP_NOTHING)
        berth_tree_remove(cache->dir, "layers");
}

void berth_cache_fini(struct berth_cache *cache)
{
    free(cache->path);
    if (cache->dir >= 0)
        close(cache->dir);
    if (cache->lock >= 0)
        close(cache->lock);
    *cache = (struct berth_cache)BERTH_CACHE_NONE;
}
