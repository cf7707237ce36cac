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

TEST_ROWS(a_word_is_a_mode, modes)
{
    ck_assert_int_eq(berth_mode_of(modes[_i].word), modes[_i].mode);
}

static const struct {
    const char *word;
    bool is_word;
} words[] = {
    {"auto", true},  {"cray-mpich", true}, {"mpich4", true}, {"4mpich", true},
    {"a-", true},    {"", false},          {"-a", false},    {"Host", false},
    {"NAME", false}, {"a_b", false},       {"a.b", false},   {"a/b", false},
    {"a b", false},  {"\303\244", false},
};

TEST_ROWS(a_name_has_small_letters_digits_and_hyphens, words)
{
    ck_assert_int_eq(berth_mode_is_word(words[_i].word), words[_i].is_word);
}
