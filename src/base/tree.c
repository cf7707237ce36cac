/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, copies and removes files below a directory that is given by descriptor. */

#include "base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"

int berth_tree_open(const char *path, uid_t owner, mode_t forbidden, int *ret_missing,
                    struct berth_err *err)
{
    BERTH_CLOSE int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int result;

    if (ret_missing)
        *ret_missing = fd < 0 && errno == ENOENT;
    if (fd < 0 && errno == ELOOP)
        errno = ENOTDIR;
    if (fd < 0 || fstat(fd, &st) < 0)
        return berth_err_file(err, path, "opened");
    if (st.st_uid != owner || (st.st_mode & forbidden))
        return berth_err_set(err,
                             "'%s': belongs to user %u and has mode %04o; expected "
                             "user %u, and mode %04o or less",
                             path, st.st_uid, st.st_mode & 07777, owner,
                             0777 & ~forbidden);
    result = fd;
    fd = -1;
    return result;
}

/* Open NAME below DIR, which is not a symbolic link. */
static int open_step(int dir, const char *name)
{
    int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat status;

    if (fd < 0)
        return -1;
    if (fstat(fd, &status) == 0 && !S_ISLNK(status.st_mode))
        return fd;
    close(fd);
    errno = ELOOP;
    return -1;
}

/* openat2(2) does it at once (RESOLVE_NO_SYMLINKS), with Linux 5.6 and later. */
int berth_tree_open_plain(int from, const char *path)
{
    BERTH_FREE char *copy = strdup(path);
    char *rest = copy;
    int at = -1;

    if (copy)
        at = openat(from, *path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    while (at >= 0 && rest) {
        const char *name = strsep(&rest, "/");
        const int dir = at;

        if (!*name)
            continue;
        at = open_step(dir, name);
        close(dir);
    }
    return at;
}

DIR *berth_tree_list(int dir, const char *name)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *list;

    if (fd < 0)
        return NULL;
    list = fdopendir(fd);
    if (!list)
        close(fd);
    return list;
}

int berth_tree_parents(int dir, const char *file)
{
    BERTH_FREE char *path = strdup(file);

    if (!path)
        return -1;
    for (char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        if (mkdirat(dir, path, 0755) < 0 && errno != EEXIST)
            return -1;
        *at = '/';
    }
    return 0;
}

/* Copy within the kernel. Returns 0, or -1 with errno. */
static int copy_in_kernel(int from, int to)
{
    ssize_t got;

    do
        got = copy_file_range(from, NULL, to, NULL, 1 << 30, 0);
    while (got > 0);
    return (int)got;
}

/* Does NUMBER, an errno, say that the kernel cannot copy between these files (on two
 * file systems, or with an old kernel)? */
static bool cannot_copy(int number)
{
    return number == EXDEV || number == ENOSYS || number == EINVAL ||
           number == EOPNOTSUPP;
}

static int copy_bytes(int from, int to)
{
    char bytes[65536];

    if (copy_in_kernel(from, to) == 0)
        return 0;
    if (!cannot_copy(errno))
        return -1;
    for (;;) {
        ssize_t got = read(from, bytes, sizeof(bytes));

        if (got <= 0)
            return (int)got;
        if (berth_fd_write(to, bytes, (size_t)got) < 0)
            return -1;
    }
}

int berth_tree_copy(int from, int dir, const char *name, mode_t mode)
{
    int to =
        openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int result;

    if (to < 0)
        return -1;
    result = copy_bytes(from, to);
    if (result == 0)
        result = fchmod(to, mode);
    /* Some file systems report a lack of space only now. */
    if (close(to) < 0)
        result = -1;
    return result;
}

/* Remove all that is in LIST. Returns -1 if something is left. */
static int remove_entries(DIR *list)
{
    int result = 0;

    for (;;) {
        const struct dirent *entry = readdir(list);

        if (!entry)
            return result;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (berth_tree_remove(dirfd(list), entry->d_name) < 0)
            result = -1;
    }
}

int berth_tree_remove(int dir, const char *name)
{
    DIR *list = berth_tree_list(dir, name);
    int result;

    if (!list && errno == EACCES && fchmodat(dir, name, 0700, 0) == 0)
        list = berth_tree_list(dir, name);
    if (!list)
        return unlinkat(dir, name, 0);
    fchmod(dirfd(list), 0700); /* a directory of an image may be read-only */
    result = remove_entries(list);
    closedir(list);
    if (unlinkat(dir, name, AT_REMOVEDIR) < 0)
        result = -1;
    return result;
}
