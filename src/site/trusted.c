/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files that only the administrators can have written. */

#include "site/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "request/path.h"
#include "site/syntax.h"

/* As many as the kernel follows (path_resolution(7)). */
enum { LINKS_MAX = 40 };

struct walk {
    const char *path;
    uid_t owner;
    int links;       /* the number that was followed */
    int depth;       /* of the link whose target is checked; 0: none */
    bool is_missing; /* a name of `path` itself does not exist */
    bool has_ended; /* `file` is checked: the sticky bit excuses a directory above it */
    struct stat file; /* or the directory */
};

/* May others have the write permission that FACTS show? On a link it has no effect; in
 * a directory on the way with the sticky bit, they cannot exchange what is not theirs.
 */
static bool is_excused(const struct walk *walk, const struct stat *facts)
{
    bool is_sticky = S_ISDIR(facts->st_mode) && (facts->st_mode & S_ISVTX);

    return S_ISLNK(facts->st_mode) || (is_sticky && !walk->has_ended);
}

static int check(const struct walk *walk, const char *name, const struct stat *facts,
                 struct berth_err *err)
{
    if (facts->st_uid != 0 && facts->st_uid != walk->owner)
        return berth_err_set(
            err,
            "%s: '%s' belongs to user %u, who could change it; expected "
            "root as the owner",
            walk->path, name, facts->st_uid);
    if ((facts->st_mode & 022) && !is_excused(walk, facts))
        return berth_err_set(
            err, "%s: '%s' can be written by others (mode %04o); chmod go-w",
            walk->path, name, facts->st_mode & 07777);
    return 0;
}

static int refuse_kind(const struct walk *walk, const char *name, const char *kind,
                       struct berth_err *err)
{
    return berth_err_set(err, "%s: '%s' is not a %s", walk->path, name, kind);
}

/* Refuse the path for the reason in errno; NAME (NULL: the file itself) is the cause.
 */
static int refuse_name(const struct walk *walk, const char *name, struct berth_err *err)
{
    berth_err_set(err, "%s; it must be there, and readable by all users",
                  strerror(errno));
    if (name)
        berth_err_at(err, "'%s'", name);
    return berth_err_at(err, "%s", walk->path);
}

static int check_path(struct walk *walk, const char *path, size_t checked, bool is_file,
                      struct berth_err *err);

/* Check the target of the LINK, whose directory is checked. */
static int follow(struct walk *walk, const char *link, bool is_file,
                  struct berth_err *err)
{
    char target[PATH_MAX];
    ssize_t length = readlink(link, target, sizeof(target) - 1);
    BERTH_FREE char *path = NULL;
    size_t checked = 0;
    int result;

    if (length < 0)
        return refuse_name(walk, link, err);
    target[length] = '\0';
    walk->links++;
    if (walk->links > LINKS_MAX)
        return berth_err_set(err, "%s: more than %d links; name the file itself",
                             walk->path, LINKS_MAX);
    path = berth_path_beside(link, target);
    if (!path)
        return berth_err_oom(err);

    /* A relative target begins in the directory of the link. */
    if (*target != '/')
        checked = (size_t)(strrchr(link, '/') - link);
    walk->depth++;
    result = check_path(walk, path, checked, is_file, err);
    walk->depth--;
    return result;
}

/* Check NAME, the last of PLACE; those before it are checked. A dangling link does not
 * count as missing: its file system may not be mounted yet. */
static int check_name(struct walk *walk, const char *place, const char *name,
                      bool is_file, struct berth_err *err)
{
    struct stat facts;

    if (lstat(place, &facts) < 0) {
        walk->is_missing = errno == ENOENT && walk->depth == 0;
        return refuse_name(walk, is_file ? NULL : name, err);
    }
    if (check(walk, name, &facts, err) < 0)
        return -1;
    if (S_ISLNK(facts.st_mode))
        return follow(walk, place, is_file, err);
    if (is_file && !S_ISREG(facts.st_mode))
        return refuse_kind(walk, name, "file", err);
    if (!is_file && !S_ISDIR(facts.st_mode))
        return refuse_kind(walk, name, "directory", err);
    walk->file = facts;
    return 0;
}

/* Check each name of PATH, behind its first CHECKED bytes; the last one is a file or a
 * directory. Nobody who is not trusted can exchange a name after its check. */
static int check_path(struct walk *walk, const char *path, size_t checked, bool is_file,
                      struct berth_err *err)
{
    BERTH_FREE char *copy = strdup(path);
    char *name;
    int result = 0;

    if (!copy)
        return berth_err_oom(err);
    name = copy + checked;
    name += strspn(name, "/");
    if (is_file && !*name)
        return refuse_kind(walk, "/", "file", err);
    while (result == 0 && *name) {
        char *end = name + strcspn(name, "/");
        char *next = end + strspn(end, "/");
        char ended = *end;

        *end = '\0';
        result = check_name(walk, copy, name, is_file && !*next, err);
        *end = ended;
        name = next;
    }
    return result;
}

/* Is FD the file that was checked? */
static bool is_checked(const struct walk *walk, int fd)
{
    struct stat facts;

    if (fstat(fd, &facts) < 0 || !S_ISREG(facts.st_mode))
        return false;
    return facts.st_dev == walk->file.st_dev && facts.st_ino == walk->file.st_ino;
}

/* Open the file that was checked. Returns -1 with errno. */
static int open_checked(const struct walk *walk)
{
    int fd = open(walk->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0 || is_checked(walk, fd))
        return fd;
    close(fd);
    errno = ESTALE;
    return -1;
}

int berth_trusted_read(const char *path, uid_t owner, int *ret_missing,
                       struct berth_buf *buf, struct berth_err *err)
{
    struct walk walk = {.path = path, .owner = owner};
    BERTH_CLOSE int fd = -1;
    int result = check_name(&walk, "/", "/", false, err);

    if (result == 0)
        result = check_path(&walk, path, 0, buf, err);
    walk.has_ended = true;
    if (result == 0 && !buf)
        result = check(&walk, path, &walk.file, err);
    if (ret_missing)
        *ret_missing = walk.is_missing;
    if (result < 0 || !buf)
        return result;
    fd = open_checked(&walk);
    if (fd < 0 || berth_fd_read(fd, BERTH_SYNTAX_BYTES + 1, buf) < 0)
        return refuse_name(&walk, NULL, err);
    return berth_err_oom_if(buf->failed, err);
}
