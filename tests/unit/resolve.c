/* SPDX-License-Identifier: Apache-2.0 */
/* berth_resolve() returns what realpath(3) returns, and caches it. */

#include "base/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static void setup(void)
{
    ck_assert_int_eq(chdir(unit_dir), 0);
    ck_assert_int_eq(mkdir("usr", 0755), 0);
    ck_assert_int_eq(mkdir("usr/lib", 0755), 0);
    ck_assert_int_eq(symlink("usr/lib", "lib"), 0);
    ck_assert_int_eq(symlink("lib", "lib64"), 0);
    unit_write("usr/lib/libm.so.6.1", "", 0);
    ck_assert_int_eq(symlink("libm.so.6.1", "usr/lib/libm.so.6"), 0);
    ck_assert_int_eq(symlink("./../../lib64/libm.so.6", "usr/lib/libm.so"), 0);
    ck_assert_int_eq(symlink("/", "usr/root"), 0);
    ck_assert_int_eq(symlink("loop", "usr/loop"), 0);
    ck_assert_int_eq(symlink("nothing", "usr/gone"), 0);
}

static const char *const paths[] = {
    "",
    "/",
    "/usr",
    "/lib",
    "/lib64/",
    "/lib64/..",
    "/lib/libm.so.6",
    "/usr/lib/libm.so",
    "//usr/./lib//../../lib64/libm.so",
    "/usr/root",
    "/usr/root/../..",
    "/usr/root/usr/..",
    "/usr/root/usr/../lib/..",
    "/usr/loop/x",
    "/usr/gone",
    "/nothing",
    "/nothing/x",
    "/usr/lib/libm.so/x",
};

TEST_ROWS(the_result_is_that_of_realpath, paths)
{
    BERTH_FREE char *path = unit_path(unit_dir, paths[_i]);

    for (int time = 0; time < 2; time++) {
        BERTH_FREE char *expected = realpath(path, NULL);
        int number = errno;
        BERTH_FREE char *real = berth_resolve(path);

        if (expected)
            ck_assert_str_eq(real, expected);
        else
            ck_assert_ptr_null(real);
        ck_assert(expected || errno == number);
    }
}

TEST(what_is_no_path_has_no_result)
{
    enum { LONG = 1 << 20 };
    BERTH_FREE char *path = malloc(LONG + 1);

    for (size_t i = 0; i < LONG; i++)
        path[i] = i % 2 ? 'x' : '/';
    path[LONG] = '\0';
    ck_assert_ptr_null(berth_resolve(NULL));
    ck_assert_ptr_null(berth_resolve(path));
}

TEST(a_relative_path_is_resolved)
{
    BERTH_FREE char *expected = realpath("lib/libm.so", NULL);
    BERTH_FREE char *real = berth_resolve("lib/libm.so");

    ck_assert_str_eq(real, expected);
}

TEST(the_cache_stays_until_it_is_emptied)
{
    BERTH_FREE char *path = unit_path(unit_dir, "lib64");
    BERTH_FREE char *before = berth_resolve(path);

    ck_assert_int_eq(unlink("lib64"), 0);
    ck_assert_int_eq(symlink("usr", "lib64"), 0);
    for (int time = 0; time < 2; time++) {
        BERTH_FREE char *after = berth_resolve(path);

        ck_assert_int_eq(strcmp(after, before) == 0, time == 0);
        berth_resolve_forget();
    }
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
    tcase_add_checked_fixture(tests, setup, berth_resolve_forget);
}
