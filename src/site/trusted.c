/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files that only the administrators can have written. */

#include "site/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "site/syntax.h"

/* As many as the kernel follows (path_resolution(7)). */
enum { LINKS_MAX = 40 };

struct walk {
    const char *path;
    uid_t owner;
    int directory; /* the last one that was opened */
    char *rest;    /* the names after it */
    size_t target; /* a name comes from a link if the rest after it is at least this
                      long */
    int links;     /* the number that was followed */
};

static int check(const struct walk *walk, const char *name, const struct stat *facts,
                 struct berth_err *err)
{
    bool open_to_all = (facts->st_mode & 022) != 0;

    if (S_ISLNK(facts->st_mode) ||
        (S_ISDIR(facts->st_mode) && (facts->st_mode & S_ISVTX)))
        open_to_all = false;
    if (facts->st_uid != 0 && facts->st_uid != walk->owner)
        return berth_err_set(
            err,
            "%s: '%s' belongs to user %u, who could change it; expected "
            "root as the owner",
            walk->path, name, facts->st_uid);
    if (open_to_all)
        return berth_err_set(
            err, "%s: '%s' can be written by others (mode %04o); chmod go-w",
            walk->path, name, facts->st_mode & 07777);
    return 0;
}

/* Put the target of the link FD in front of the rest. */
static int follow(struct walk *walk, int fd, struct berth_err *err)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(fd, "", target, sizeof(target) - 1);
    char *joined = NULL;

    if (length < 0)
        return berth_err_set(err, "%s: %s", walk->path, strerror(errno));
    target[length] = '\0';
    if (++walk->links > LINKS_MAX)
        return berth_err_set(err, "%s: more than %d links; name the file itself",
                             walk->path, LINKS_MAX);
    if (asprintf(&joined, "%s/%s", target, walk->rest) < 0)
        return berth_err_oom(err);
    if (strlen(walk->rest) < walk->target)
        walk->target = strlen(walk->rest);
    free(walk->rest);
    walk->rest = joined;
    if (*target != '/')
        return 0;
    close(walk->directory);
    walk->directory = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return walk->directory < 0 ? berth_err_set(err, "/: %s", strerror(errno)) : 0;
}

/* Remove the first name from the rest. The caller frees it; NULL: there is none. */
static char *next_name(struct walk *walk)
{
    size_t start = strspn(walk->rest, "/");
    size_t length = strcspn(walk->rest + start, "/");
    char *name = length ? strndup(walk->rest + start, length) : NULL;

    start += length;
    start += strspn(walk->rest + start, "/");
    memmove(walk->rest, walk->rest + start, strlen(walk->rest + start) + 1);
    return name;
}

static int refuse_kind(const struct walk *walk, const char *name, const char *kind,
                       struct berth_err *err)
{
    return berth_err_set(err, "%s: '%s' is not a %s", walk->path, name, kind);
}

/* Refuse the path, because open(2) of NAME (NULL: the file itself) failed with NUMBER.
 */
static int refuse_name(const struct walk *walk, const char *name, int number,
                       struct berth_err *err)
{
    berth_err_set(err, "%s; it must be there, and readable by all users",
                  strerror(number));
    if (name)
        berth_err_at(err, "'%s'", name);
    return berth_err_at(err, "%s", walk->path);
}

/* Open the file NAME. It was checked under this name; check the open file again. */
static int open_file(const struct walk *walk, const char *name, struct berth_err *err)
{
    BERTH_CLOSE int fd =
        openat(walk->directory, name,
               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat facts;
    int result = fd;

    if (fd < 0 || fstat(fd, &facts) < 0)
        return refuse_name(walk, NULL, errno, err);
    if (!S_ISREG(facts.st_mode))
        return refuse_kind(walk, name, "file", err);
    if (check(walk, name, &facts, err) < 0)
        return -1;
    fd = -1;
    return result;
}

/* Open NAME. Returns 1 if NAME is the file, with *RET_FD; 0 if the walk goes on; -1
 * with a sentence in ERR. A dangling link does not count as missing: its file system
 * may not be mounted yet. */
static int enter_name(struct walk *walk, const char *name, int *ret_fd,
                      int *ret_missing, struct berth_err *err)
{
    BERTH_CLOSE int fd = openat(walk->directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat facts;
    bool last = *walk->rest == '\0';

    if (fd < 0 || fstat(fd, &facts) < 0) {
        *ret_missing = errno == ENOENT && strlen(walk->rest) < walk->target;
        return refuse_name(walk, last ? NULL : name, errno, err);
    }
    if (check(walk, name, &facts, err) < 0)
        return -1;
    if (S_ISLNK(facts.st_mode))
        return follow(walk, fd, err);
    if (last && S_ISREG(facts.st_mode)) {
        *ret_fd = open_file(walk, name, err);
        return *ret_fd < 0 ? -1 : 1;
    }
    if (last || !S_ISDIR(facts.st_mode))
        return refuse_kind(walk, name, last ? "file" : "directory", err);
    close(walk->directory);
    walk->directory = fd;
    fd = -1;
    return 0;
}

static int follow_path(struct walk *walk, int *ret_missing, struct berth_err *err)
{
    struct stat facts;
    int fd = -1;
    int result = 0;

    if (fstat(walk->directory, &facts) < 0)
        return berth_err_set(err, "/: %s", strerror(errno));
    if (check(walk, "/", &facts, err) < 0)
        return -1;
    while (result == 0) {
        BERTH_FREE char *name = next_name(walk);

        if (!name)
            return refuse_kind(walk, "/", "file", err);
        result = enter_name(walk, name, &fd, ret_missing, err);
    }
    return result < 0 ? -1 : fd;
}

int berth_trusted_open(const char *path, uid_t owner, int *ret_missing,
                       struct berth_err *err)
{
    struct walk walk = {
        .path = path, .owner = owner, .rest = strdup(path), .target = SIZE_MAX};
    int fd = -1;

    *ret_missing = 0;
    if (!walk.rest)
        return berth_err_oom(err);
    walk.directory = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (walk.directory < 0)
        berth_err_set(err, "/: %s", strerror(errno));
    else
        fd = follow_path(&walk, ret_missing, err);
    if (walk.directory >= 0)
        close(walk.directory);
    free(walk.rest);
    return fd;
}

int berth_trusted_read(int fd, const char *path, struct berth_buf *buf,
                       struct berth_err *err)
{
    if (berth_fd_read(fd, BERTH_SYNTAX_BYTES + 1, buf) < 0)
        return berth_err_set(err, "%s: %s", path, strerror(errno));
    return buf->failed ? berth_err_oom(err) : 0;
}
