/* SPDX-License-Identifier: Apache-2.0 */
/* Error sentences have a limited length, are one line, and are safe on a terminal. */

#include "base/err.h"

#include "unit.h"

static const struct {
    const char *text;
    const char *shown;
} escapes[] = {
    {"plain", "plain"},
    {"", ""},
    {"two\nlines", "two\\nlines"},
    {"tab\there", "tab\\x09here"},
    {"\033[2Jgone", "\\x1b[2Jgone"},
    {"bell\a", "bell\\x07"},
    {"\001\037", "\\x01\\x1f"},
    {"delete\177", "delete\\x7f"},
    {"\302\2332J", "\\x9b2J"},
    {"back\\slash", "back\\slash"},
    {"50%", "50%"},
    {"gr\303\274\303\237e \342\202\254", "gr\303\274\303\237e \342\202\254"},
};

TEST_ROWS(control_characters_are_escaped, escapes)
{
    struct berth_err err;

    ck_assert_int_eq(berth_err_set(&err, "%s", escapes[_i].text), -1);
    ck_assert_str_eq(err.text, escapes[_i].shown);
}

TEST(a_code_is_of_one_sentence)
{
    struct berth_err err;

    berth_err_set(&err, "first");
    ck_assert_int_eq(err.code, BERTH_ERR_OTHER);
    ck_assert_int_eq(berth_err_mark(&err, BERTH_ERR_OVERLAY), -1);
    berth_err_at(&err, "place");
    ck_assert_str_eq(err.text, "place: first");
    ck_assert_int_eq(err.code, BERTH_ERR_OVERLAY);
    berth_err_set(&err, "second");
    ck_assert_int_eq(err.code, BERTH_ERR_OTHER);
    ck_assert_int_eq(berth_err_mark(NULL, BERTH_ERR_OVERLAY), -1);
}

TEST(every_byte_leaves_one_printable_line)
{
    struct berth_err err;

    for (int c = 1; c < 256; c++) {
        berth_err_set(&err, "<%c>", c);
        for (const char *at = err.text; *at; at++)
            ck_assert_msg((unsigned char)*at >= 0x20 && *at != 0x7f, "byte %d", c);
    }
}

static const char fillers[] = {'a', '\n', '\001'};

TEST_ROWS(overlong_text_ends_in_dots_and_stays_in_bounds, fillers)
{
    struct {
        struct berth_err err;
        char fence[16];
    } box;
    char text[BERTH_ERR_SIZE * 4];

    memset(&box, 'F', sizeof(box));
    memset(text, fillers[_i], sizeof(text));
    text[sizeof(text) - 1] = '\0';
    ck_assert_int_eq(berth_err_set(&box.err, "%s", text), -1);
    ck_assert_uint_lt(strlen(box.err.text), BERTH_ERR_SIZE);
    ck_assert_uint_gt(strlen(box.err.text), BERTH_ERR_SIZE - 16);
    ck_assert_str_eq(box.err.text + strlen(box.err.text) - 3, "...");
    for (size_t i = 0; i < sizeof(box.fence); i++)
        ck_assert_int_eq(box.fence[i], 'F');
}

TEST(a_place_goes_in_front)
{
    struct berth_err err;

    berth_err_set(&err, "'%s' is wrong", "a\nb");
    ck_assert_int_eq(berth_err_at(&err, "--%s", "option"), -1);
    ck_assert_str_eq(err.text, "--option: 'a\\nb' is wrong");
    berth_err_at(&err, "line %d", 7);
    ck_assert_str_eq(err.text, "line 7: --option: 'a\\nb' is wrong");
}

TEST(a_place_before_a_long_sentence_stays_in_bounds)
{
    struct berth_err err;
    char text[BERTH_ERR_SIZE * 2];

    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    berth_err_set(&err, "%s", text);
    berth_err_at(&err, "%s", text);
    ck_assert_uint_lt(strlen(err.text), BERTH_ERR_SIZE);
    ck_assert_str_eq(err.text + strlen(err.text) - 3, "...");
}

TEST(err_may_be_null)
{
    ck_assert_int_eq(berth_err_set(NULL, "%s", "lost"), -1);
    ck_assert_int_eq(berth_err_at(NULL, "%s", "lost"), -1);
    ck_assert_int_eq(berth_err_oom(NULL), -1);
}

TEST(out_of_memory_has_a_sentence)
{
    struct berth_err err;

    ck_assert_int_eq(berth_err_oom(&err), -1);
    ck_assert_str_eq(err.text, SPENT("Cannot allocate memory"));
}
