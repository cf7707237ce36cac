/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that are tried leave nothing, and are then done once. */

#include "bindover/trial.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bindover/operation.h"
#include "unit.h"

static struct berth_operations operations;
static struct berth_trial trial;
static struct berth_err err;

static void setup(void)
{
    unit_file(unit_dir, "host", 0644, "host");
    unit_file(unit_dir, "image", 0644, "image");
}

static void teardown(void)
{
    berth_operations_fini(&operations);
}

/* The mount of the host's file over the image's, and a variable. */
static void add_all(void)
{
    BERTH_FREE char *host = unit_path(unit_dir, "host");
    BERTH_FREE char *image = unit_path(unit_dir, "image");

    berth_operations_mount(&operations, host, image, NULL);
    berth_operations_set(&operations, "TRIAL_X=new", NULL);
}

/* Does the image's file have the host's text? */
static bool is_mounted(void)
{
    BERTH_FREE char *host = unit_path(unit_dir, "host");
    BERTH_FREE char *image = unit_path(unit_dir, "image");
    struct stat a, b;

    ck_assert_int_eq(stat(host, &a), 0);
    ck_assert_int_eq(stat(image, &b), 0);
    return a.st_ino == b.st_ino;
}

static void begin(void)
{
    ck_assert_msg(berth_trial_begin(&trial, &err) == 0, "%s", err.text);
}

static void end(void)
{
    ck_assert_msg(berth_trial_end(&trial, &err) == 0, "%s", err.text);
}

static void do_all(void)
{
    ck_assert_msg(berth_operations_do(&operations, 0, &err) == 0, "%s", err.text);
}

TEST(nothing_of_a_trial_is_left)
{
    BERTH_FREE char *before = NULL;
    BERTH_FREE char *after = NULL;

    if (!unit_may_mount())
        return;
    ck_assert_int_eq(chdir(unit_dir), 0);
    before = getcwd(NULL, 0);
    setenv("TRIAL_X", "old", 1);
    setenv("TRIAL_Y", "a=b", 1);
    add_all();

    begin();
    do_all();
    ck_assert(is_mounted());
    ck_assert_str_eq(getenv("TRIAL_X"), "new");
    end();

    ck_assert(!is_mounted());
    ck_assert_str_eq(getenv("TRIAL_X"), "old");
    ck_assert_str_eq(getenv("TRIAL_Y"), "a=b");
    after = getcwd(NULL, 0);
    ck_assert_str_eq(after, before);
    ck_assert_int_eq(access("image", R_OK), 0);
}

/* As often as needed, and the operations are in place after they were done. */
TEST(what_was_tried_is_done)
{
    if (!unit_may_mount())
        return;
    add_all();
    for (int i = 0; i < 3; i++) {
        begin();
        do_all();
        end();
    }
    do_all();
    ck_assert(is_mounted());
    ck_assert_str_eq(getenv("TRIAL_X"), "new");
    ck_assert_int_eq(umount2(operations.items[0].over, MNT_DETACH), 0);
}

TEST(the_end_of_no_trial_does_nothing)
{
    end();
    ck_assert_int_eq(access(unit_dir, R_OK), 0);
}

TEST(a_mount_is_in_the_list_once)
{
    add_all();
    add_all();
    ck_assert_uint_eq(operations.count, 3); /* and the variable twice */
    berth_operations_cut(&operations, 1);
    ck_assert_uint_eq(operations.count, 1);
    ck_assert_int_eq(operations.items[0].kind, BERTH_OPERATION_MOUNT);
}

/* A program that may not mount may not try it, and is where it was. */
TEST(a_trial_that_cannot_begin_is_an_error)
{
    int result;

    if (geteuid() != 0 || seteuid(1000) < 0)
        return;
    result = berth_trial_begin(&trial, &err);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(result, -1);
    ck_assert_str_eq(err.text, "'/proc/self/ns/mnt': cannot be copied: Operation not "
                               "permitted");
    ck_assert(!trial.is_open);
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
    tcase_add_checked_fixture(tests, setup, teardown);
}
