/* SPDX-License-Identifier: Apache-2.0 */
/* The program in front of every command of a --multi-prog configuration. */

#include "request/multiprog.h"

#include "base/buf.h"
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

static const struct {
    const char *text;
    const char *programs; /* with a blank behind each */
} commands[] = {
    {"", ""},
    {"0 ./b\n1 ./a\n", "./a ./b "},
    {"1 ./a x\n0 ./b ./c\n2-7 ./a y", "./a ./b "},
    {"0 /p ./a\n* /p b\n", "./a b "},
    {"# 0 ./z\n\n  0\t./a \\\n  1 ./y\n1 ./b\n", "./a ./b "},
    {"#0 ./z\n3\n* /p\n", ""},
};

START_TEST(each_program_is_named_once_in_one_order)
{
    struct berth_strvec list = {0};
    struct berth_buf text = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_multiprog_programs(commands[_i].text, "/p", &list, &err), 0);
    berth_buf_puts(&text, "");
    for (size_t i = 0; i < list.count; i++) {
        berth_buf_puts(&text, list.items[i]);
        berth_buf_puts(&text, " ");
    }
    ck_assert_str_eq(text.text, commands[_i].programs);
    berth_buf_fini(&text);
    berth_strvec_fini(&list);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("multiprog");

    tcase_add_loop_test(tests, each_program_is_named_once_in_one_order, 0,
                        COUNT(commands));
    tcase_add_loop_test(tests, every_command_gets_the_program, 0, COUNT(texts));
    return unit_run("multiprog", tests);
}
