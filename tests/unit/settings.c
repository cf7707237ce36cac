/* SPDX-License-Identifier: Apache-2.0 */
/* The words behind the plugin in plugstack.conf. */

#include "site/plugstack.h"

#include "unit.h"

static const struct {
    const char *words[4];
    const char *prefix;
    const char *config; /* NULL: not said */
} good[] = {
    {.words = {NULL}, .prefix = ""},
    {.words = {"option_prefix=berth-"}, .prefix = "berth-"},
    {.words = {"option_prefix="}, .prefix = ""},
    {.words = {"option_prefix=a1-"}, .prefix = "a1-"},
    {.words = {"config=/opt/a b/berth.yaml"},
     .prefix = "",
     .config = "/opt/a b/berth.yaml"},
    {.words = {"config=/a", "config=/b"}, .prefix = "", .config = "/b"},
    {.words = {"option_prefix=x", "config=/a=b"}, .prefix = "x", .config = "/a=b"},
};

static int count_words(const char *const *words)
{
    int count = 0;

    while (count < 4 && words[count])
        count++;
    return count;
}

static int read_words(const char *const words[4], struct berth_settings *settings,
                      struct berth_err *err)
{
    return berth_settings_read(count_words(words), (char *const *)words, settings, err);
}

TEST_ROWS(words_become_settings, good)
{
    struct berth_settings settings;
    struct berth_err err;

    ck_assert_int_eq(read_words(good[_i].words, &settings, &err), 0);
    ck_assert_str_eq(settings.option_prefix, good[_i].prefix);
    ck_assert_pstr_eq(settings.config, good[_i].config);
    berth_settings_fini(&settings);
}

#define SETTINGS                                                                       \
    " is not a setting of berth; expected option_prefix= or config= (all else is set " \
    "in berth.yaml)"

static const struct {
    const char *word;
    const char *error; /* behind "plugstack.conf: " */
} bad[] = {
    {"option_prefix=A",
     "option_prefix: expected at most 32 small letters, digits and -, got 'A'"},
    {"option_prefix=a b",
     "option_prefix: expected at most 32 small letters, digits and -, got 'a b'"},
    {"option_prefix=a_b",
     "option_prefix: expected at most 32 small letters, digits and -, got 'a_b'"},
    {"option_prefix=\303\274",
     "option_prefix: expected at most 32 small letters, digits and -, got '\303\274'"},
    {"option_prefix=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "option_prefix: expected at most 32 small letters, digits and -, got "
     "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'"},
    {"config=berth.yaml", "config: expected an absolute path, got 'berth.yaml'"},
    {"config=", "config: expected an absolute path, got ''"},
    {"config", "'config'" SETTINGS},
    {"option_prefix", "'option_prefix'" SETTINGS},
    {"colour=red", "'colour=red'" SETTINGS},
    {"share=never", "'share=never'" SETTINGS},
    {"", "''" SETTINGS},
    {"=", "'='" SETTINGS},
    {"confi=/a", "'confi=/a'" SETTINGS},
    {"configs=/a", "'configs=/a'" SETTINGS},
    {"a\nb", "'a\\nb'" SETTINGS},
};

TEST_ROWS(a_wrong_word_is_named, bad)
{
    const char *const words[4] = {bad[_i].word};
    struct berth_settings settings;
    struct berth_err err;

    ck_assert_int_eq(read_words(words, &settings, &err), -1);
    ck_assert_int_eq(strncmp(err.text, "plugstack.conf: ", 16), 0);
    ck_assert_str_eq(err.text + 16, bad[_i].error);
    berth_settings_fini(&settings);
}

TEST(a_wrong_word_spoils_no_other)
{
    const char *const words[4] = {"colour=red", "option_prefix=x-", "config=no",
                                  "config=/r"};
    struct berth_settings settings;
    struct berth_err err;

    ck_assert_int_eq(read_words(words, &settings, &err), -1);
    ck_assert_str_eq(err.text, "plugstack.conf: 'colour=red'" SETTINGS);
    ck_assert_str_eq(settings.option_prefix, "x-");
    ck_assert_str_eq(settings.config, "/r");
    berth_settings_fini(&settings);
}
