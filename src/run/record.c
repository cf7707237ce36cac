/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the record of a step where the site wants it. */

#include "run/record.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* May a record be written to the file FD? In a directory of several users, another user
 * may have made the file first. So a file that is not root's must be a regular file of
 * this user, with one name. */
static bool is_trusted(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 &&
           (st.st_uid == 0 ||
            (st.st_uid == geteuid() && S_ISREG(st.st_mode) && st.st_nlink == 1));
}

static int refuse(const char *path, const char *why, struct berth_err *err)
{
    return berth_err_set(err,
                         "provenance.file '%s': %s; ask the administrators to let you "
                         "write there",
                         path, why);
}

/* A pipe that nobody reads must not stop a step. */
int berth_record_open(struct berth_record *record, struct berth_err *err)
{
    const struct passwd *user = getpwuid(getuid());
    BERTH_FREE char *path = NULL;
    int fd;

    record->user = user ? user->pw_name : NULL;
    if (berth_record_path(record, &path, err) < 0)
        return -1;
    fd = open(path,
              O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
                  O_NOFOLLOW,
              0644);
    if (fd >= 0 && is_trusted(fd))
        return fd;
    if (fd < 0 && errno != ELOOP)
        return refuse(path, strerror(errno), err);
    if (fd >= 0)
        close(fd);
    return berth_err_set(err,
                         "provenance.file '%s': it is a link, or not a file of yours "
                         "or root's; ask the administrators to remove it",
                         path);
}

/* In one write, so that records of several steps do not mix on a local file system. */
int berth_record_put(const struct berth_record *record, int fd, struct berth_err *err)
{
    BERTH_FREE char *path = NULL;
    BERTH_BUF struct berth_buf line = {0};
    ssize_t written;

    if (berth_record_path(record, &path, err) < 0 ||
        berth_record_write(record, &line, err) < 0)
        return -1;
    written = write(fd, line.text, line.used);
    if (written == (ssize_t)line.used)
        return 0;
    return refuse(path, written < 0 ? strerror(errno) : "only a part was written", err);
}
