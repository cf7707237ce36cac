/* SPDX-License-Identifier: Apache-2.0 */
/* A way without symbolic links. */

#include "base/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

/* In a directory that has `in/file`, and the links `link` to `in` and `in/end` to
 * `file`. */
static const struct {
    const char *path;
    int error;      /* 0: it is opened */
    const char *is; /* the file that it is then */
} rows[] = {
    {"", 0, "."},
    {"/in", 0, "in"},
    {"/in/file", 0, "in/file"},
    {"/link", ELOOP, NULL},
    {"/link/file", ELOOP, NULL},
    {"/in/end", ELOOP, NULL},
    {"/in/none", ENOENT, NULL},
    {"/in/file/none", ENOTDIR, NULL},
};

TEST_ROWS(a_way_through_a_link_is_not_taken, rows)
{
    BERTH_FREE char *directory = unit_directory();
    BERTH_FREE char *path = unit_format("%s%s", directory, rows[_i].path);
    struct stat seen, wanted;
    int fd;

    ck_assert_int_eq(chdir(directory), 0);
    ck_assert_int_eq(mkdir("in", 0700), 0);
    close(open("in/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    ck_assert_int_eq(symlink("in", "link"), 0);
    ck_assert_int_eq(symlink("file", "in/end"), 0);
    fd = berth_tree_open_plain(AT_FDCWD, path);
    if (rows[_i].error) {
        ck_assert_int_eq(errno, rows[_i].error);
        ck_assert_int_eq(fd, -1);
    } else {
        ck_assert_int_eq(fstat(fd, &seen), 0);
        ck_assert_int_eq(stat(rows[_i].is, &wanted), 0);
        ck_assert(seen.st_ino == wanted.st_ino && seen.st_dev == wanted.st_dev);
        close(fd);
    }
    ck_assert_int_eq(chdir("/"), 0);
    unit_remove(directory);
}
