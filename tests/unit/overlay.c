/* SPDX-License-Identifier: Apache-2.0 */
/* The directory for what tasks write to an image, and who removes it. */

#include "container/overlay.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "unit.h"

static struct berth_overlay made(const char *top)
{
    struct berth_overlay overlay = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_overlay_make(top, "n1", &overlay, &err), 0);
    return overlay;
}

static bool is_there(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

TEST(it_is_the_users_own_and_locked)
{
    BERTH_FREE char *start = unit_format("%s/berth-write.%u.n1.", unit_dir, geteuid());
    struct berth_overlay overlay = made(unit_dir);
    BERTH_FREE char *path = strdup(overlay.path);
    BERTH_FREE char *work = unit_format("%s/work", path);
    BERTH_CLOSE int other = open(path, O_RDONLY | O_DIRECTORY);
    struct berth_err err;
    struct stat st;

    ck_assert(berth_text_starts(path, start));
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    ck_assert(is_there(work));
    ck_assert_int_eq(flock(other, LOCK_EX | LOCK_NB), -1);
    ck_assert(!berth_overlay_is_full(overlay.fd, &err));
    berth_overlay_remove(&overlay);
    ck_assert(!is_there(path));
    berth_overlay_remove(&overlay);
}

/* As a kernel's overlay leaves it, with a directory of an image that nobody may write.
 */
TEST(the_next_start_removes_what_is_left)
{
    struct berth_overlay left = made(unit_dir);
    struct berth_overlay runs = made(unit_dir);
    BERTH_FREE char *work = unit_format("%s/work/work", left.path);
    BERTH_FREE char *shut = unit_format("%s/upper/usr", left.path);
    BERTH_FREE char *file = unit_format("%s/upper/usr/file", left.path);
    BERTH_FREE char *other = unit_format("%s/berth-write.%u.n2.x", unit_dir, geteuid());
    struct berth_overlay next;

    ck_assert_int_eq(mkdir(work, 0), 0);
    ck_assert_int_eq(mkdir(shut, 0755), 0);
    ck_assert_int_eq(close(open(file, O_CREAT, 0)), 0);
    ck_assert_int_eq(chmod(shut, 0555), 0);
    ck_assert_int_eq(mkdir(other, 0700), 0);
    close(left.fd); /* all that had it were killed */
    next = made(unit_dir);
    ck_assert(!is_there(left.path));
    ck_assert(is_there(runs.path));
    ck_assert(is_there(other)); /* of another node */
    free(left.path);
    berth_overlay_remove(&runs);
    berth_overlay_remove(&next);
}

TEST(a_directory_that_cannot_be_written)
{
    struct berth_overlay overlay = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_overlay_make("/proc", "n1", &overlay, &err), -1);
    ck_assert_ptr_ne(strstr(err.text, "--container-writable: '/proc': "), NULL);
    ck_assert_ptr_ne(strstr(err.text, "; set TMPDIR to a directory of this node in "
                                      "which you may write"),
                     NULL);
}

TEST(a_process_without_one)
{
    ck_assert_int_eq(berth_overlay_open(getpid()), -1);
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
}
