/* SPDX-License-Identifier: Apache-2.0 */
/* Where the container runtime is. */

#include "probe/runtime.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static char *directory;

static void setup(void)
{
    directory = unit_directory();
}

static void teardown(void)
{
    unit_remove(directory);
    free(directory);
}

static void make_program(const char *name, mode_t mode)
{
    BERTH_FREE char *path = unit_path(directory, name);

    unit_write(path, "#!/bin/sh\n", 10);
    ck_assert_int_eq(chmod(path, mode), 0);
}

START_TEST(the_configured_one_is_taken)
{
    BERTH_FREE char *path = unit_path(directory, "mine");
    BERTH_FREE char *found = NULL;
    struct berth_err err;

    make_program("mine", 0755);
    make_program("apptainer", 0755);
    ck_assert_int_eq(berth_runtime_find(path, directory, &found, &err), 0);
    ck_assert_str_eq(found, path);
}
END_TEST

#define ADVICE                                                                         \
    "; ask the administrators to install it or to correct runtime.path in berth.yaml"

static const struct {
    const char *name;
    mode_t mode; /* 0: not there */
    const char *why;
} broken[] = {
    {"missing", 0, "No such file or directory" ADVICE},
    {"plain", 0644, "not a program" ADVICE},
    {".", 0, "not a program" ADVICE},
};

START_TEST(a_configured_one_that_is_none_is_named)
{
    BERTH_FREE char *path = unit_path(directory, broken[_i].name);
    BERTH_FREE char *found = NULL;
    BERTH_FREE char *expected = NULL;
    struct berth_err err;

    if (broken[_i].mode)
        make_program(broken[_i].name, broken[_i].mode);
    make_program("apptainer", 0755);
    ck_assert_int_eq(berth_runtime_find(path, directory, &found, &err), -1);
    ck_assert_int_gt(
        asprintf(&expected, "container runtime '%s': %s", path, broken[_i].why), 0);
    ck_assert_str_eq(err.text, expected);
}
END_TEST

START_TEST(apptainer_is_found_before_singularity)
{
    BERTH_FREE char *path = unit_path(directory, "apptainer");
    BERTH_FREE char *found = NULL;
    struct berth_err err;

    make_program("singularity", 0755);
    make_program("apptainer", 0755);
    ck_assert_int_eq(berth_runtime_find(NULL, directory, &found, &err), 0);
    ck_assert_str_eq(found, path);
}
END_TEST

static const char *const lists[] = {"%s", "/nowhere:%s", "%s:/nowhere",
                                    ".::bin:%s:", "/nowhere:/dev/null:%s"};

START_TEST(a_path_is_searched)
{
    BERTH_FREE char *path = unit_path(directory, "apptainer");
    BERTH_FREE char *found = NULL;
    struct berth_err err;
    char list[1024];
    const char *at = strstr(lists[_i], "%s");

    snprintf(list, sizeof(list), "%.*s%s%s", (int)(at - lists[_i]), lists[_i],
             directory, at + 2);
    make_program("apptainer", 0755);
    ck_assert_int_eq(berth_runtime_find(NULL, list, &found, &err), 0);
    ck_assert_str_eq(found, path);
}
END_TEST

/* Only where the usual directories hold none can it be missing. */
START_TEST(relative_directories_and_files_do_not_count)
{
    BERTH_FREE char *found = NULL;
    struct berth_err err;

    make_program("apptainer", 0644);
    ck_assert_int_eq(chdir(directory), 0);
    if (berth_runtime_find(NULL, NULL, &found, &err) == 0)
        return;
    ck_assert_int_eq(berth_runtime_find(NULL, "", &found, &err), -1);
    ck_assert_int_eq(berth_runtime_find(NULL, ".:./", &found, &err), -1);
    ck_assert_int_eq(berth_runtime_find(NULL, directory, &found, &err), -1);
    ck_assert_str_eq(err.text,
                     "container runtime: neither apptainer nor singularity is "
                     "installed here; ask the administrators to install one");
    ck_assert_int_eq(chdir("/"), 0);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("runtime");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, the_configured_one_is_taken);
    tcase_add_loop_test(tests, a_configured_one_that_is_none_is_named, 0,
                        COUNT(broken));
    tcase_add_test(tests, apptainer_is_found_before_singularity);
    tcase_add_loop_test(tests, a_path_is_searched, 0, COUNT(lists));
    tcase_add_test(tests, relative_directories_and_files_do_not_count);
    return unit_run("runtime", tests);
}
