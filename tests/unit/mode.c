/* SPDX-License-Identifier: Apache-2.0 */
/* The modes of --mpi-bind. */

#include "request/mode.h"

#include "unit.h"

static const struct {
    const char *word;
    enum berth_mode mode;
} modes[] = {
    {NULL, BERTH_MODE_OFF},        {"auto", BERTH_MODE_AUTO},
    {"host", BERTH_MODE_HOST},     {"hybrid", BERTH_MODE_HYBRID},
    {"local", BERTH_MODE_LOCAL},   {"local-each", BERTH_MODE_LOCAL_EACH},
    {"launch", BERTH_MODE_LAUNCH}, {"off", BERTH_MODE_OFF},
    {"mpich", BERTH_MODE_NAME},    {"localx", BERTH_MODE_NAME},
    {"local-", BERTH_MODE_NAME},   {"NAME", BERTH_MODE_NAME},
};

START_TEST(a_word_is_a_mode)
{
    ck_assert_int_eq(berth_mode_of(modes[_i].word), modes[_i].mode);
}
END_TEST

static const struct {
    const char *word;
    bool is_word;
} words[] = {
    {"auto", true},  {"cray-mpich", true}, {"mpich4", true}, {"4mpich", true},
    {"a-", true},    {"", false},          {"-a", false},    {"Host", false},
    {"NAME", false}, {"a_b", false},       {"a.b", false},   {"a/b", false},
    {"a b", false},  {"\303\244", false},
};

START_TEST(a_name_has_small_letters_digits_and_hyphens)
{
    ck_assert_int_eq(berth_mode_is_word(words[_i].word), words[_i].is_word);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("mode");

    tcase_add_loop_test(tests, a_word_is_a_mode, 0, COUNT(modes));
    tcase_add_loop_test(tests, a_name_has_small_letters_digits_and_hyphens, 0,
                        COUNT(words));
    return unit_run("mode", tests);
}
