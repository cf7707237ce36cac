/* SPDX-License-Identifier: Apache-2.0 */
/* Values in an environment. */

#include "base/environ.h"

#include "base/cleanup.h"
#include "unit.h"

static char *const env[] = {(char *)"A=1", (char *)"AB=two=2", (char *)"EMPTY=",
                            (char *)"A=3", (char *)"ODD",      NULL};

static const struct {
    const char *name;
    const char *value;
} values[] = {
    {"A", "1"},    {"AB", "two=2"}, {"EMPTY", ""}, {"ODD", NULL},
    {"ABC", NULL}, {"", NULL},      {"two", NULL},
};

START_TEST(a_variable_has_a_value)
{
    const char *value = berth_environ_value(env, values[_i].name);

    if (values[_i].value)
        ck_assert_str_eq(value, values[_i].value);
    else
        ck_assert_ptr_null(value);
    ck_assert_ptr_null(berth_environ_value(NULL, values[_i].name));
}
END_TEST

static const struct {
    const char *bytes;
    size_t count;
    const char *lines;
} splits[] = {
    {"", 0, ""},
    {"A=1", 4, "A=1\n"},
    {"A=1\0B=\n2\0", 9, "A=1\nB=\n2\n"},
    {"A=1\0\0C=3", 9, "A=1\n\nC=3\n"},
};

START_TEST(bytes_become_strings)
{
    BERTH_STRVEC struct berth_strvec list = {0};
    BERTH_FREE char *lines = NULL;

    berth_environ_split(splits[_i].bytes, splits[_i].count, &list);
    lines = unit_lines(&list);
    ck_assert_str_eq(lines, splits[_i].lines);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("environ");

    tcase_add_loop_test(tests, a_variable_has_a_value, 0, COUNT(values));
    tcase_add_loop_test(tests, bytes_become_strings, 0, COUNT(splits));
    return unit_run("environ", tests);
}
