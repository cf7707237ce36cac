/* SPDX-License-Identifier: Apache-2.0 */
/* Stages are removed when no step needs them, and not before. */

#include "stage/expire.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "stage/manifest.h"
#include "unit.h"

#define OLD "mpich-0123456789abcdef"
#define NEW "mpich-fedcba9876543210"

static struct berth_stage_root root;
static char *top;
static char *library; /* that the stages are made of */
static int root_fd;

static int open_root(void)
{
    int fd = open(root.path, O_RDONLY | O_DIRECTORY);

    ck_assert_int_ge(fd, 0);
    return fd;
}

static void setup(void)
{
    top = unit_directory();
    library = unit_path(top, "libmpi.so.12");
    unit_write(library, "library", 7);
    root = (struct berth_stage_root){.path = unit_path(top, "root"),
                                     .mounted = "/.berth/user",
                                     .owner = geteuid(),
                                     .forbidden = 0077,
                                     .mode = 0700,
                                     .days = 30};
    ck_assert_int_eq(mkdir(root.path, 0700), 0);
    root_fd = open_root();
}

static void teardown(void)
{
    close(root_fd);
    unit_remove(top);
    free((char *)root.path);
    free(library);
    free(top);
}

static void add_source(struct berth_manifest *manifest)
{
    struct stat st;
    struct berth_staged_source source = {.path = library};

    ck_assert_int_eq(stat(library, &st), 0);
    source.device = st.st_dev;
    source.inode = st.st_ino;
    source.size = (uint64_t)st.st_size;
    source.time =
        (uint64_t)st.st_mtim.tv_sec * 1000000000U + (uint64_t)st.st_mtim.tv_nsec;
    ck_assert_int_eq(berth_manifest_add_source(manifest, &source, NULL), 0);
}

/* The stage NAME, of what the library is now, that was last used DAYS ago. */
static void make_stage(const char *name, int days)
{
    BERTH_FREE char *path = unit_path(root.path, name);
    BERTH_FREE char *file = unit_path(path, "manifest");
    BERTH_BUF struct berth_buf text = {0};
    const struct timespec used = {.tv_sec = time(NULL) - days * 86400};
    const struct timespec times[] = {used, used};
    struct berth_manifest manifest = {.profile = strdup("mpich"),
                                      .version = strdup("4.2.1"),
                                      .from = strdup(library),
                                      .mounted = unit_path(root.mounted, name)};

    add_source(&manifest);
    ck_assert_int_eq(berth_manifest_write(&manifest, &text, NULL), 0);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    unit_write(file, text.text, text.used);
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    berth_manifest_fini(&manifest);
}

static void upgrade(void)
{
    unit_write(library, "another library", 15);
}

static bool is_there(const char *name)
{
    return faccessat(root_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* How many entries the root has. */
static int count_entries(void)
{
    DIR *list = opendir(root.path);
    int count = -2;

    while (readdir(list))
        count++;
    closedir(list);
    return count;
}

START_TEST(a_stage_of_another_mpi_goes)
{
    make_stage(OLD, 0);
    upgrade();
    make_stage(NEW, 0);
    berth_expire(&root);
    ck_assert(!is_there(OLD));
    ck_assert(is_there(NEW));
    ck_assert_int_eq(count_entries(), 1);
}
END_TEST

static const struct {
    int days;
    unsigned int limit;
    bool stays;
} idle[] = {
    {0, 30, true}, {29, 30, true}, {31, 30, false}, {400, 0, true}, {-2, 30, true},
};

START_TEST(a_stage_that_is_not_used_goes)
{
    make_stage(OLD, idle[_i].days);
    root.days = idle[_i].limit;
    berth_expire(&root);
    ck_assert_int_eq(is_there(OLD), idle[_i].stays);
}
END_TEST

/* Another step has the root open and locked; once it has ended the stage goes. */
START_TEST(nothing_goes_while_another_step_runs)
{
    int other = open_root();

    make_stage(OLD, 0);
    upgrade();
    berth_expire_lock(&root, other);
    ck_assert(!is_there(OLD)); /* it was the first one */
    make_stage(OLD, 0);
    upgrade();
    make_stage(NEW, 31);
    upgrade();
    berth_expire(&root);
    ck_assert(is_there(OLD));
    ck_assert(is_there(NEW));
    close(other);
    berth_expire(&root);
    ck_assert(!is_there(OLD));
    ck_assert(!is_there(NEW));
}
END_TEST

START_TEST(who_uses_the_root_has_it_locked)
{
    int other = open_root();

    make_stage(OLD, 0);
    upgrade();
    berth_expire_lock(&root, root_fd);
    ck_assert(!is_there(OLD));
    ck_assert_int_eq(flock(other, LOCK_EX | LOCK_NB), -1);
    ck_assert_int_eq(flock(other, LOCK_SH | LOCK_NB), 0);
    close(other);
}
END_TEST

/* A root that others may open: nobody can keep its owner waiting. */
START_TEST(a_lock_of_somebody_else_is_not_waited_for)
{
    int other = open_root();

    root.forbidden = 0022;
    ck_assert_int_eq(flock(other, LOCK_EX), 0);
    alarm(10);
    berth_expire_lock(&root, root_fd);
    berth_expire(&root);
    alarm(0);
    close(other);
}
END_TEST

/* What a maker goes on with, for a day. */
START_TEST(what_can_be_gone_on_with_stays)
{
    const struct timespec yesterday = {.tv_sec = time(NULL) - 86400 - 1};
    const struct timespec times[] = {yesterday, yesterday};
    BERTH_FREE char *path = unit_path(root.path, ".new-" OLD);

    ck_assert_int_eq(mkdir(path, 0700), 0);
    berth_expire(&root);
    ck_assert(is_there(".new-" OLD));
    ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    berth_expire(&root);
    ck_assert(!is_there(".new-" OLD));
}
END_TEST

START_TEST(once_a_day_is_enough)
{
    const struct timespec yesterday = {.tv_sec = time(NULL) - 86400 - 1};
    const struct timespec times[] = {yesterday, yesterday};

    berth_expire_lock(&root, root_fd);
    make_stage(OLD, 31);
    berth_expire_lock(&root, root_fd);
    ck_assert(is_there(OLD));
    ck_assert_int_eq(utimensat(root_fd, ".swept", times, 0), 0);
    berth_expire_lock(&root, root_fd);
    ck_assert(!is_there(OLD));
}
END_TEST

START_TEST(the_root_of_somebody_else_is_only_used)
{
    make_stage(OLD, 31);
    root.owner++;
    berth_expire_lock(&root, root_fd);
    root.owner--;
    ck_assert(is_there(OLD));
    ck_assert_int_eq(count_entries(), 1);
}
END_TEST

static const char *const others[] = {
    "facts",
    ".new-of-a-maker",
    "mpich",
    "mpich-0123456789abcde",
    "mpich-0123456789abcdeX",
};

/* A maker has a lock on what it makes. */
START_TEST(what_is_no_stage_stays)
{
    BERTH_FREE char *path = unit_path(root.path, others[_i]);
    int fd;

    ck_assert_int_eq(mkdir(path, 0700), 0);
    fd = open(path, O_RDONLY | O_DIRECTORY);
    ck_assert_int_eq(flock(fd, LOCK_EX | LOCK_NB), 0);
    berth_expire(&root);
    ck_assert(is_there(others[_i]));
    close(fd);
}
END_TEST

START_TEST(what_a_killed_sweeper_left_goes)
{
    BERTH_FREE char *path = unit_path(root.path, OLD);
    BERTH_FREE char *aside = unit_path(root.path, ".new-1-old-0");

    make_stage(OLD, 0);
    ck_assert_int_eq(rename(path, aside), 0);
    berth_expire(&root);
    ck_assert_int_eq(count_entries(), 0);
}
END_TEST

/* Anybody may make the first choice; nobody else one of the user's. */
START_TEST(a_root_that_is_taken_has_a_second)
{
    char path[BERTH_STAGE_USER_SIZE], again[BERTH_STAGE_USER_SIZE];
    char name[24];
    BERTH_FREE char *place = unit_directory();
    BERTH_FREE char *first = NULL;
    BERTH_FREE char *lost = NULL;
    struct stat st;

    snprintf(name, sizeof(name), "berth-%u", geteuid());
    first = unit_path(place, name);
    ck_assert_int_gt(asprintf(&lost, "%s.aaaaaa", first), 0);
    berth_stage_user_in(place, true, path);
    ck_assert_str_eq(path, first);
    unit_write(first, "", 0); /* not a directory, so not one of the user's */
    unit_write(lost, "", 0);
    berth_stage_user_in(place, true, path);
    ck_assert_int_eq(strncmp(path, first, strlen(first)), 0);
    ck_assert_str_ne(path, first);
    ck_assert_str_ne(path, lost);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    for (int i = 0; i < 2; i++) {
        berth_stage_user_in(place, i, again);
        ck_assert_str_eq(again, path);
    }
    ck_assert_int_eq(unlink(first), 0);
    berth_stage_user_in(place, true, again);
    ck_assert_str_eq(again, first);
    unit_remove(place);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("sweep");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_stage_of_another_mpi_goes);
    tcase_add_loop_test(tests, a_stage_that_is_not_used_goes, 0, COUNT(idle));
    tcase_add_test(tests, nothing_goes_while_another_step_runs);
    tcase_add_test(tests, who_uses_the_root_has_it_locked);
    tcase_add_test(tests, a_lock_of_somebody_else_is_not_waited_for);
    tcase_add_test(tests, what_can_be_gone_on_with_stays);
    tcase_add_test(tests, a_root_that_is_taken_has_a_second);
    tcase_add_test(tests, once_a_day_is_enough);
    tcase_add_test(tests, the_root_of_somebody_else_is_only_used);
    tcase_add_loop_test(tests, what_is_no_stage_stays, 0, COUNT(others));
    tcase_add_test(tests, what_a_killed_sweeper_left_goes);
    return unit_run("sweep", tests);
}
