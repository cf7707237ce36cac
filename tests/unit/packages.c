/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled modules of a Python's packages. */

#include "bindover/users.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "unit.h"

static void setup(void)
{
    unit_run(
        "cd %s && mkdir -p venv/bin venv/lib/python3.9/site-packages/np/core other "
        "&& touch venv/lib/python3.9/site-packages/np/core/m.cpython-39.so "
        "venv/lib/python3.9/site-packages/np/libx.so.1 "
        "venv/lib/python3.9/site-packages/np/m.py other/extra.so && "
        "ln -s ../other venv/lib/python3.9/link",
        unit_dir);
}

/* How many files of the test's directory end in END. */
static int count(const struct berth_strvec *files, const char *end)
{
    int found = 0;

    for (size_t i = 0; i < files->count; i++)
        found += strncmp(files->items[i], unit_dir, strlen(unit_dir)) == 0 &&
                 strstr(files->items[i], end) != NULL;
    return found;
}

TEST(modules_are_found_below_the_prefix)
{
    BERTH_FREE char *python = unit_path(unit_dir, "venv/bin/python3.9");
    BERTH_STRVEC struct berth_strvec files = {0};
    static char *const env[] = {NULL};

    berth_packages_list(python, env, &files);
    ck_assert_int_eq(count(&files, "/core/m.cpython-39.so"), 1);
    ck_assert_int_eq(count(&files, "/libx.so.1"), 1);
    ck_assert_int_eq(count(&files, "/"), 2); /* no link is followed */
}

TEST(so_are_those_of_pythonpath)
{
    BERTH_FREE char *python = unit_path(unit_dir, "venv/bin/python3.9");
    BERTH_FREE char *path = NULL;
    BERTH_STRVEC struct berth_strvec files = {0};

    path = unit_format("PYTHONPATH=:%s/other:here:%s/other", unit_dir, unit_dir);
    berth_packages_list(python, (char *const[]){path, NULL}, &files);
    ck_assert_int_eq(count(&files, "/other/extra.so"), 1);
}

TEST(another_program_has_none)
{
    BERTH_FREE char *shell = unit_path(unit_dir, "venv/bin/sh");
    BERTH_STRVEC struct berth_strvec files = {0};
    static char *const env[] = {NULL};

    berth_packages_list(shell, env, &files);
    ck_assert_uint_eq(files.count, 0);
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
    tcase_add_checked_fixture(tests, setup, NULL);
}
