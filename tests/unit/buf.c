/* SPDX-License-Identifier: Apache-2.0 */
/* Appends to a growing text. */

#include "base/buf.h"

#include "unit.h"

TEST(nothing_added_is_null)
{
    struct berth_buf buf = {0};

    ck_assert_ptr_null(buf.text);
    berth_buf_fini(&buf);
    ck_assert_ptr_null(buf.text);
}

TEST(an_empty_text_is_not_null)
{
    BERTH_BUF struct berth_buf buf = {0};

    berth_buf_puts(&buf, "");
    ck_assert_str_eq(buf.text, "");
    ck_assert_uint_eq(buf.used, 0);
}

TEST(bytes_are_kept_in_order)
{
    BERTH_BUF struct berth_buf buf = {0};

    for (int i = 0; i < 10000; i++)
        berth_buf_add(&buf, "0123456789" + i % 10, 1);
    ck_assert(!buf.failed);
    ck_assert_uint_eq(buf.used, 10000);
    ck_assert_uint_eq(strlen(buf.text), 10000);
    for (int i = 0; i < 10000; i++)
        ck_assert_int_eq(buf.text[i], '0' + i % 10);
}

TEST(a_failed_text_takes_nothing_more)
{
    BERTH_BUF struct berth_buf buf = {0};

    berth_buf_puts(&buf, "kept");
    buf.failed = true;
    berth_buf_puts(&buf, "lost");
    ck_assert_str_eq(buf.text, "kept");
}

TEST(an_ended_text_can_start_again)
{
    BERTH_BUF struct berth_buf buf = {0};

    berth_buf_puts(&buf, "old");
    berth_buf_fini(&buf);
    berth_buf_puts(&buf, "new");
    ck_assert_str_eq(buf.text, "new");
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
