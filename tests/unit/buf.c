/* SPDX-License-Identifier: Apache-2.0 */
/* Appends to a growing text. */

#include "base/buf.h"

#include "unit.h"

TEST(a_failed_text_takes_nothing_more)
{
    BERTH_BUF struct berth_buf buf = {0};

    berth_buf_puts(&buf, "kept");
    buf.failed = true;
    berth_buf_puts(&buf, "lost");
    ck_assert_str_eq(buf.text, "kept");
}

TEST(a_text_is_there_before_its_first_byte)
{
    BERTH_BUF struct berth_buf buf = {0};

    ck_assert_str_eq(berth_buf_text(&buf), "");
    berth_buf_puts(&buf, "kept");
    ck_assert_str_eq(berth_buf_text(&buf), "kept");
}

static const struct {
    const char *word, *shell;
} words[] = {
    {"", "''"},           {"a-b_c./:=,+@%9", "a-b_c./:=,+@%9"},
    {"a b", "'a b'"},     {"it's", "'it'\\''s'"},
    {"$HOME", "'$HOME'"}, {"a\n", "'a\n'"},
    {"~", "'~'"},         {"\xc3\xa9", "'\xc3\xa9'"},
};

TEST_ROWS(a_word_is_what_a_shell_takes, words)
{
    BERTH_BUF struct berth_buf buf = {0};

    berth_buf_word(&buf, words[_i].word);
    ck_assert_str_eq(buf.text, words[_i].shell);
}
