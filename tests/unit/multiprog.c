/* SPDX-License-Identifier: Apache-2.0 */
/* The program in front of every command of a --multi-prog configuration. */

#include "plan/multiprog.h"

#include "unit.h"

static const struct {
    const char *text;
    const char *prefixed;
} texts[] = {
    {"", ""},
    {"0 ./a\n", "0 /p ./a\n"},
    {"0 ./a", "0 /p ./a"},
    {"0-3 ./a x y\n4 ./b\n", "0-3 /p ./a x y\n4 /p ./b\n"},
    {"* ./a %t %o\n", "* /p ./a %t %o\n"},
    {"0,2-4\t./a\n", "0,2-4 /p\t./a\n"},
    {"  0   ./a\n", "  0 /p   ./a\n"},
    {"# 0 ./a\n\n  # more\n0 ./a\n", "# 0 ./a\n\n  # more\n0 /p ./a\n"},
    {"   \n\t\n", "   \n\t\n"},
    {"0 ./a \\\n  more words\n1 ./b\n", "0 /p ./a \\\n  more words\n1 /p ./b\n"},
    {"0 ./a \\\n x \\\n y\n1 ./b\n", "0 /p ./a \\\n x \\\n y\n1 /p ./b\n"},
    {"0 sh -c 'a # b'\n", "0 /p sh -c 'a # b'\n"},
};

START_TEST(every_command_gets_the_program)
{
    struct berth_err err;
    char *text = NULL;

    ck_assert_int_eq(berth_multiprog_prefix(texts[_i].text, "/p", &text, &err), 0);
    ck_assert_str_eq(text, texts[_i].prefixed);
    free(text);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("multiprog");

    tcase_add_loop_test(tests, every_command_gets_the_program, 0, COUNT(texts));
    return unit_run("multiprog", tests);
}
