/* SPDX-License-Identifier: Apache-2.0 */
/* The directory for what tasks write to an image, and who removes it. */

#include "container/overlay.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "container/start.h"
#include "unit.h"

static struct berth_overlay made(const char *top)
{
    struct berth_overlay overlay = BERTH_OVERLAY_NONE;
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
    BERTH_FREE char *lock = unit_format("%s/lock", path);
    BERTH_CLOSE int other = open(lock, O_RDONLY);
    struct berth_err err;
    struct stat st;

    ck_assert(berth_text_starts(path, start));
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    ck_assert(is_there(work));
    ck_assert_int_eq(flock(other, LOCK_EX | LOCK_NB), -1);
    ck_assert(!berth_overlay_is_full(overlay.lock, &err));
    berth_overlay_remove(&overlay);
    ck_assert(!is_there(path));
    berth_overlay_remove(&overlay);
}

/* One container after another uses it, and all of it is removed. */
TEST(a_container_waits_for_the_last_one)
{
    struct berth_overlay overlay = made(unit_dir);
    BERTH_FREE char *path = strdup(overlay.path);
    struct berth_err err;
    int first = berth_overlay_use(path, &err);
    pid_t child;

    ck_assert_int_ge(first, 0);
    child = fork();
    if (child == 0) {
        close(first); /* else this process holds the lock, too */
        _exit(berth_overlay_use(path, &err) < 0);
    }
    usleep(100000);
    ck_assert_int_eq(waitpid(child, NULL, WNOHANG), 0);
    close(first);
    ck_assert_int_eq(unit_ended(child), 0);
    berth_overlay_remove_in(&overlay, -1);
    ck_assert(!is_there(path));
    ck_assert_int_eq(berth_overlay_use(path, &err), -1);
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
    close(left.lock); /* all that had it were killed */
    next = made(unit_dir);
    ck_assert(!is_there(left.path));
    ck_assert(is_there(runs.path));
    ck_assert(is_there(other)); /* of another node */
    close(left.directory);
    free(left.path);
    berth_overlay_remove(&runs);
    berth_overlay_remove(&next);
}

/* A program of an image can open what berth-init holds open: from a directory, `..`
 * would lead to all files of the host. */
TEST(what_a_container_holds_open_is_a_file)
{
    struct berth_overlay overlay = made(unit_dir);
    struct stat st;

    ck_assert_int_eq(fstat(overlay.lock, &st), 0);
    ck_assert(S_ISREG(st.st_mode));
    ck_assert_int_eq(openat(overlay.lock, "..", O_PATH), -1);
    berth_overlay_remove(&overlay);
}

/* In a directory of a group, another user can give a directory such a name. */
static const struct {
    const char *path; /* what is in it, a file */
    bool stays;
} renamed[] = {
    {"thesis", true},
    {"upper/x", true}, /* of an owner who has files of that name */
    {".hidden", true},
    {"lock", false}, /* as berth leaves it when it is killed at once */
};

TEST_ROWS(a_directory_of_somebody_else_stays, renamed)
{
    BERTH_FREE char *left = unit_format("%s/berth-write.%u.n1.x1", unit_dir, geteuid());
    BERTH_FREE char *file = unit_format("%s/%s", left, renamed[_i].path);
    struct berth_overlay overlay;

    unit_run("mkdir -p $(dirname %s) && echo mine >%s", file, file);
    overlay = made(unit_dir);
    ck_assert_int_eq(is_there(file), renamed[_i].stays);
    berth_overlay_remove(&overlay);
}

TEST(what_another_directory_has_got_stays)
{
    struct berth_overlay overlay = made(unit_dir);
    BERTH_FREE char *path = strdup(overlay.path);
    BERTH_FREE char *file = unit_format("%s/upper/thesis", path);
    BERTH_FREE char *moved = unit_format("%s/moved", unit_dir);

    unit_run("mv %s %s; mkdir -p %s/upper; echo mine >%s", path, moved, path, file);
    berth_overlay_remove(&overlay);
    ck_assert(is_there(file));
}

TEST(an_umask_of_the_user_takes_no_right_away)
{
    mode_t mask = umask(0777);
    struct berth_overlay overlay = made(unit_dir);
    BERTH_FREE char *path = strdup(overlay.path);
    BERTH_FREE char *upper = unit_format("%s/upper", path);
    struct stat st;

    ck_assert_int_eq(umask(mask), 0777);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    ck_assert_int_eq(stat(upper, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0755);
    berth_overlay_remove(&overlay);
    ck_assert(!is_there(path));
}

TEST(a_directory_that_cannot_be_written)
{
    struct berth_overlay overlay = BERTH_OVERLAY_NONE;
    struct berth_err err;

    ck_assert_int_eq(berth_overlay_make("/proc", "n1", &overlay, &err), -1);
    ck_assert_ptr_ne(strstr(err.text, "--container-writable: '/proc': "), NULL);
    ck_assert_ptr_ne(strstr(err.text, "; set TMPDIR to a directory of this node in "
                                      "which you may write"),
                     NULL);
}

/* This process holds the file as berth-init does. */
TEST(what_tasks_write_is_found)
{
    struct berth_overlay overlay = made(unit_dir);
    BERTH_FREE char *upper = unit_format("%s/upper", overlay.path);
    struct stat expected, found;
    int dir;

    ck_assert_int_eq(dup2(overlay.lock, BERTH_START_OVERLAY), BERTH_START_OVERLAY);
    dir = berth_overlay_upper(getpid());
    ck_assert_int_ge(dir, 0);
    ck_assert_int_eq(fstat(dir, &found), 0);
    ck_assert_int_eq(stat(upper, &expected), 0);
    ck_assert_uint_eq(found.st_ino, expected.st_ino);
    close(dir);

    ck_assert_int_eq(chmod(overlay.path, 0755), 0); /* not the user's alone */
    ck_assert_int_eq(berth_overlay_upper(getpid()), -1);
    ck_assert_int_eq(chmod(overlay.path, 0700), 0);
    unit_run("mv %s %s.kept && ln -s / %s", upper, upper, upper);
    ck_assert_int_eq(berth_overlay_upper(getpid()), -1);
    unit_run("rm %s && mv %s.kept %s", upper, upper, upper);
    close(BERTH_START_OVERLAY);
    berth_overlay_remove(&overlay);
}

TEST(a_process_without_one)
{
    ck_assert_int_eq(berth_overlay_open(getpid()), -1);
    ck_assert_int_eq(berth_overlay_upper(getpid()), -1);
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
}
