/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of words. */

#include "base/choice.h"

#include "base/cleanup.h"
#include "unit.h"

static const struct {
    const char *choices;
    const char *word;
    int at;
} finds[] = {
    {"a|bc|d", "a", 0},     {"a|bc|d", "bc", 1}, {"a|bc|d", "d", 2},
    {"a|bc|d", "b", -1},    {"a|bc|d", "", -1},  {"a|bc|d", "a|bc", -1},
    {"[a|NAME|b]", "b", 2}, {"[a|b]", "a", 0},   {"[a|NAME|b]", "NAME", -1},
    {"[a|b]", "b]", -1},    {"[a|b]", "c", -1},
};

TEST_ROWS(a_word_is_found, finds)
{
    ck_assert_int_eq(berth_choice_find(finds[_i].choices, finds[_i].word),
                     finds[_i].at);
}

TEST(words_in_capitals_are_left_out)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_FREE char *lines = NULL;

    berth_choice_split("[a|NAME|b]", &words);
    lines = unit_lines(&words);
    ck_assert_str_eq(lines, "a\nb\n");
}

static const struct {
    const char *choices;
    const char *other;
    const char *text;
} lists[] = {
    {"a", NULL, "a"},
    {"a|b", NULL, "a or b"},
    {"[a|NAME|b|c]", NULL, "a, b or c"},
    {"[a|NAME|b]", "a name", "a, b, or a name"},
};

TEST_ROWS(a_list_is_written_as_in_a_sentence, lists)
{
    BERTH_BUF struct berth_buf text = {0};

    berth_choice_list(lists[_i].choices, lists[_i].other, &text);
    ck_assert_str_eq(text.text, lists[_i].text);
}
