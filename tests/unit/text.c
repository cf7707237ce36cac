/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for the parts of strings. */

#include "base/text.h"

#include "unit.h"

TEST(a_text_that_is_missing_is_replaced)
{
    ck_assert_str_eq(berth_text_or("a", "b"), "a");
    ck_assert_str_eq(berth_text_or("", "b"), "");
    ck_assert_str_eq(berth_text_or(NULL, "b"), "b");
}

TEST(a_text_that_is_empty_is_not_given)
{
    ck_assert_str_eq(berth_text_given("a"), "a");
    ck_assert_ptr_null(berth_text_given(""));
    ck_assert_ptr_null(berth_text_given(NULL));
}

TEST(what_is_after_a_mark_is_found)
{
    ck_assert_str_eq(berth_text_after("a=b=c", '='), "b=c");
    ck_assert_str_eq(berth_text_after("a=", '='), "");
    ck_assert_ptr_null(berth_text_after("a", '='));
}

TEST(lines_end_with_the_text)
{
    const char *line = "a\n\nb";

    line = berth_text_next_line(line);
    ck_assert_str_eq(line, "\nb");
    line = berth_text_next_line(line);
    ck_assert_str_eq(line, "b");
    line = berth_text_next_line(line);
    ck_assert_str_eq(line, "");
    ck_assert_str_eq(berth_text_next_line(line), "");
}

static const struct {
    const char *list, *word;
    bool is_there;
} lists[] = {
    {"a,bc", "bc", true}, {"a,bc", "b", false}, {"a,bc", "", false},
    {"", "a", false},     {NULL, "a", false},   {"abc", "a", false},
};

TEST_ROWS(a_list_has_whole_words, lists)
{
    ck_assert_int_eq(berth_text_lists(lists[_i].list, lists[_i].word),
                     lists[_i].is_there);
}
