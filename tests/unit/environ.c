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

TEST_ROWS(a_variable_has_a_value, values)
{
    const char *value = berth_environ_value(env, values[_i].name);

    if (values[_i].value)
        ck_assert_str_eq(value, values[_i].value);
    else
        ck_assert_ptr_null(value);
    ck_assert_ptr_null(berth_environ_value(NULL, values[_i].name));
}

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

TEST_ROWS(bytes_become_strings, splits)
{
    BERTH_STRVEC struct berth_strvec list = {0};
    BERTH_FREE char *lines = NULL;

    berth_environ_split(splits[_i].bytes, splits[_i].count, &list);
    lines = unit_lines(&list);
    ck_assert_str_eq(lines, splits[_i].lines);
}
