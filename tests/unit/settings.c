/* SPDX-License-Identifier: Apache-2.0 */
/* The words behind the plugin in plugstack.conf. */

#include "conf/settings.h"

#include "unit.h"

static const struct {
    const char *words[4];
    const char *prefix;
    const char *runtime; /* NULL: not said */
    bool deny;
    bool never_share;
    unsigned int start_timeout; /* 0: the default */
} good[] = {
    {.words = {NULL}, .prefix = ""},
    {.words = {"option_prefix=berth-"}, .prefix = "berth-"},
    {.words = {"option_prefix="}, .prefix = ""},
    {.words = {"option_prefix=a1-"}, .prefix = "a1-"},
    {.words = {"runtime=/opt/a b/apptainer"},
     .prefix = "",
     .runtime = "/opt/a b/apptainer"},
    {.words = {"raw_args=allow"}, .prefix = ""},
    {.words = {"raw_args=deny"}, .prefix = "", .deny = true},
    {.words = {"raw_args=deny", "raw_args=allow"}, .prefix = ""},
    {.words = {"runtime=/a", "runtime=/b"}, .prefix = "", .runtime = "/b"},
    {.words = {"option_prefix=x", "raw_args=deny", "runtime=/a=b"},
     .prefix = "x",
     .runtime = "/a=b",
     .deny = true},
    {.words = {"share=auto"}, .prefix = ""},
    {.words = {"share=never"}, .prefix = "", .never_share = true},
    {.words = {"share=never", "share=auto"}, .prefix = ""},
    {.words = {"start_timeout=1"}, .prefix = "", .start_timeout = 1},
    {.words = {"start_timeout=86400"}, .prefix = "", .start_timeout = 86400},
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

START_TEST(words_become_settings)
{
    struct berth_settings settings;
    struct berth_err err;

    ck_assert_int_eq(read_words(good[_i].words, &settings, &err), 0);
    ck_assert_str_eq(settings.option_prefix, good[_i].prefix);
    ck_assert_pstr_eq(settings.runtime, good[_i].runtime);
    ck_assert_int_eq(settings.deny_raw_args, good[_i].deny);
    ck_assert_int_eq(settings.never_share, good[_i].never_share);
    ck_assert_uint_eq(settings.start_timeout,
                      good[_i].start_timeout ? good[_i].start_timeout : 60);
    berth_settings_fini(&settings);
}
END_TEST

#define SETTINGS                                                                       \
    " is no setting of berth; expected option_prefix=, runtime=, raw_args=, share=, "  \
    "start_timeout=, env_capture= or env_deny="

#define PATTERNS                                                                       \
    " is no variable; expected names separated by commas, with * for any text"

static const struct {
    const char *word;
    const char *error; /* behind "plugstack.conf: " */
} bad[] = {
    {"option_prefix=A", "option_prefix: expected small letters, digits and -, got 'A'"},
    {"option_prefix=a b",
     "option_prefix: expected small letters, digits and -, got 'a b'"},
    {"option_prefix=a_b",
     "option_prefix: expected small letters, digits and -, got 'a_b'"},
    {"option_prefix=\303\274",
     "option_prefix: expected small letters, digits and -, got '\303\274'"},
    {"runtime=apptainer", "runtime: expected an absolute path, got 'apptainer'"},
    {"runtime=", "runtime: expected an absolute path, got ''"},
    {"raw_args=yes", "raw_args: expected allow or deny, got 'yes'"},
    {"raw_args=", "raw_args: expected allow or deny, got ''"},
    {"raw_args=Deny", "raw_args: expected allow or deny, got 'Deny'"},
    {"share=yes", "share: expected auto or never, got 'yes'"},
    {"share=", "share: expected auto or never, got ''"},
    {"option_prefix=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "option_prefix: expected at most 32 characters, got "
     "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'"},
    {"start_timeout=", "start_timeout: expected 1 to 86400 seconds, got ''"},
    {"start_timeout=0", "start_timeout: expected 1 to 86400 seconds, got '0'"},
    {"start_timeout=86401", "start_timeout: expected 1 to 86400 seconds, got '86401'"},
    {"start_timeout=-1", "start_timeout: expected 1 to 86400 seconds, got '-1'"},
    {"start_timeout= 1", "start_timeout: expected 1 to 86400 seconds, got ' 1'"},
    {"start_timeout=1s", "start_timeout: expected 1 to 86400 seconds, got '1s'"},
    {"start_timeout=99999999999999999999",
     "start_timeout: expected 1 to 86400 seconds, got '99999999999999999999'"},
    {"env_capture=", "env_capture: ''" PATTERNS},
    {"env_capture=A,", "env_capture: ''" PATTERNS},
    {"env_capture=A B", "env_capture: 'A B'" PATTERNS},
    {"env_capture=A,B=1", "env_capture: 'B=1'" PATTERNS},
    {"env_deny=1A", "env_deny: '1A'" PATTERNS},
    {"env_deny=A?", "env_deny: 'A?'" PATTERNS},
    {"raw_args", "raw_args: expected raw_args=VALUE"},
    {"runtime", "runtime: expected runtime=VALUE"},
    {"option_prefix", "option_prefix: expected option_prefix=VALUE"},
    {"colour=red", "'colour=red'" SETTINGS},
    {"", "''" SETTINGS},
    {"=", "'='" SETTINGS},
    {"raw_arg=deny", "'raw_arg=deny'" SETTINGS},
    {"raw_argss=deny", "'raw_argss=deny'" SETTINGS},
    {"a\nb", "'a\\nb'" SETTINGS},
};

START_TEST(a_wrong_word_is_named)
{
    const char *const words[4] = {bad[_i].word};
    struct berth_settings settings;
    struct berth_err err;

    ck_assert_int_eq(read_words(words, &settings, &err), -1);
    ck_assert_int_eq(strncmp(err.text, "plugstack.conf: ", 16), 0);
    ck_assert_str_eq(err.text + 16, bad[_i].error);
    berth_settings_fini(&settings);
}
END_TEST

START_TEST(a_wrong_word_spoils_no_other)
{
    const char *const words[4] = {"colour=red", "option_prefix=x-", "raw_args=no",
                                  "runtime=/r"};
    struct berth_settings settings;
    struct berth_err err;

    ck_assert_int_eq(read_words(words, &settings, &err), -1);
    ck_assert_str_eq(err.text, "plugstack.conf: 'colour=red'" SETTINGS);
    ck_assert_str_eq(settings.option_prefix, "x-");
    ck_assert_str_eq(settings.runtime, "/r");
    berth_settings_fini(&settings);
}
END_TEST

START_TEST(patterns_of_variables_add_up)
{
    const char *const words[4] = {"env_capture=A_*,B", "env_deny=*_KEY",
                                  "env_capture=*"};
    struct berth_settings settings;
    struct berth_err err;

    ck_assert_int_eq(read_words(words, &settings, &err), 0);
    ck_assert_uint_eq(settings.env_capture.count, 3);
    ck_assert_str_eq(settings.env_capture.items[0], "A_*");
    ck_assert_str_eq(settings.env_capture.items[1], "B");
    ck_assert_str_eq(settings.env_capture.items[2], "*");
    ck_assert_uint_eq(settings.env_deny.count, 1);
    ck_assert_str_eq(settings.env_deny.items[0], "*_KEY");
    berth_settings_fini(&settings);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("settings");

    tcase_add_loop_test(tests, words_become_settings, 0, COUNT(good));
    tcase_add_loop_test(tests, a_wrong_word_is_named, 0, COUNT(bad));
    tcase_add_test(tests, a_wrong_word_spoils_no_other);
    tcase_add_test(tests, patterns_of_variables_add_up);
    return unit_run("settings", tests);
}
