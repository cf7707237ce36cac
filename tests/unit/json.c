/* SPDX-License-Identifier: Apache-2.0 */
/* Writes values as JSON text. */

#include "base/json.h"

#include "unit.h"

static const struct {
    const char *text;
    bool is_utf8;
} names[] = {
    {"", true},
    {"/plain \x01\x7f", true},
    {"/d\xc3\xa9j\xc3\xa0/\xe6\x97\xa5/\xf0\x9f\x8c\x8d", true},
    {"\xc2\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf", true},
    {"/caf\xe9", false},
    {"\xff", false},
    {"\x80", false},
    {"\xc3", false},
    {"\xe6\x97", false},
    {"\xc0\x80", false},
    {"\xe0\x9f\xbf", false},
    {"\xf0\x8f\xbf\xbf", false},
    {"\xed\xa0\x80", false},
    {"\xf4\x90\x80\x80", false},
    {"\xf8\x88\x80\x80\x80", false},
};

TEST_ROWS(utf8_is_told_from_other_bytes, names)
{
    ck_assert(berth_json_is_utf8(names[_i].text) == names[_i].is_utf8);
}

static const struct {
    const char *value;
    const char *text;
} strings[] = {
    {"", "\"\""},
    {"plain /a:b", "\"plain /a:b\""},
    {"a \"b\" \\c", "\"a \\\"b\\\" \\\\c\""},
    {"\n\t\r\x01\x1f", "\"\\n\\t\\u000d\\u0001\\u001f\""},
    {"\x7f \xc2\x9b \xc2\xa0", "\"\\u007f \\u009b \xc2\xa0\""},
    {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\xa2",
     "\"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x9a\xa2\""},
    {"caf\xe9", "\"caf\xef\xbf\xbd\""},
    {"\xe9z", "\"\xef\xbf\xbdz\""},
    {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
    {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    {"\xf4\x90\x80\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    {"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
    {"\xf0\x9f\x9a", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    {NULL, "null"},
};

TEST_ROWS(strings_are_escaped_for_every_parser, strings)
{
    BERTH_JSON struct berth_json json = {0};

    berth_json_string(&json, NULL, strings[_i].value);
    ck_assert(!json.text.failed);
    ck_assert_str_eq(json.text.text, strings[_i].text);
}

static void write_all(struct berth_json *json)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    struct berth_strvec nothing = {0};

    berth_strvec_push(&words, "x");
    berth_strvec_push(&words, "y");
    berth_json_object(json, NULL);
    berth_json_string(json, "name", "a");
    berth_json_number(json, "count", 7);
    berth_json_number(json, "lost", -1);
    berth_json_bool(json, "yes", true);
    berth_json_bool(json, "no", false);
    berth_json_list(json, "words", &words);
    berth_json_list(json, "nothing", &nothing);
    berth_json_array(json, "rows");
    berth_json_object(json, NULL);
    berth_json_number(json, "n", 1);
    berth_json_end(json);
    berth_json_object(json, NULL);
    berth_json_end(json);
    berth_json_end(json);
    berth_json_end(json);
    ck_assert(!json->text.failed);
}

TEST(without_pretty_there_is_one_line)
{
    BERTH_JSON struct berth_json json = {0};

    write_all(&json);
    ck_assert_str_eq(
        json.text.text,
        "{\"name\":\"a\",\"count\":7,\"lost\":null,\"yes\":true,\"no\":false,"
        "\"words\":[\"x\",\"y\"],\"nothing\":[],"
        "\"rows\":[{\"n\":1},{}]}");
}

TEST(pretty_has_a_line_for_each_member)
{
    BERTH_JSON struct berth_json json = {.pretty = true};

    write_all(&json);
    ck_assert_str_eq(json.text.text, "{\n"
                                     "  \"name\": \"a\",\n"
                                     "  \"count\": 7,\n"
                                     "  \"lost\": null,\n"
                                     "  \"yes\": true,\n"
                                     "  \"no\": false,\n"
                                     "  \"words\": [\n"
                                     "    \"x\",\n"
                                     "    \"y\"\n"
                                     "  ],\n"
                                     "  \"nothing\": [],\n"
                                     "  \"rows\": [\n"
                                     "    {\n"
                                     "      \"n\": 1\n"
                                     "    },\n"
                                     "    {}\n"
                                     "  ]\n"
                                     "}");
}

TEST(a_name_is_escaped)
{
    BERTH_JSON struct berth_json json = {0};

    berth_json_object(&json, NULL);
    berth_json_string(&json, "a\"b", NULL);
    berth_json_end(&json);
    ck_assert_str_eq(json.text.text, "{\"a\\\"b\":null}");
}

TEST(an_end_too_many_is_a_failure)
{
    BERTH_JSON struct berth_json json = {0};

    berth_json_array(&json, NULL);
    berth_json_end(&json);
    ck_assert(!json.text.failed);
    berth_json_end(&json);
    ck_assert(json.text.failed);
}

TEST(too_many_levels_are_a_failure)
{
    BERTH_JSON struct berth_json json = {0};

    for (int i = 0; i < BERTH_JSON_DEPTH; i++)
        berth_json_array(&json, NULL);
    ck_assert(!json.text.failed);
    berth_json_array(&json, NULL);
    ck_assert(json.text.failed);
}
