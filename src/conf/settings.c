/* SPDX-License-Identifier: Apache-2.0 */
/* The words behind the plugin in plugstack.conf. */

#include "conf/settings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define PLACE "plugstack.conf"

/* Seconds; a SIF on a busy parallel file system is slow, a hung one is for ever. */
enum { START_TIMEOUT = 60 };

/* Slurm refuses an option whose name is longer than 75 letters, and srun with it. */
enum { LONGEST_PREFIX = 32 };

static int take_prefix(struct berth_settings *settings, const char *value,
                       struct berth_err *err)
{
    if (strlen(value) > LONGEST_PREFIX)
        return berth_err_set(err,
                             PLACE
                             ": option_prefix: expected at most %d characters, got "
                             "'%s'",
                             LONGEST_PREFIX, value);
    for (const char *c = value; *c; c++)
        if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && *c != '-')
            return berth_err_set(err,
                                 PLACE ": option_prefix: expected small letters, "
                                       "digits and -, got '%s'",
                                 value);
    free(settings->option_prefix);
    settings->option_prefix = strdup(value);
    return settings->option_prefix ? 0 : berth_err_oom(err);
}

static int take_runtime(struct berth_settings *settings, const char *value,
                        struct berth_err *err)
{
    if (*value != '/')
        return berth_err_set(
            err, PLACE ": runtime: expected an absolute path, got '%s'", value);
    free(settings->runtime);
    settings->runtime = strdup(value);
    return settings->runtime ? 0 : berth_err_oom(err);
}

static int take_raw_args(struct berth_settings *settings, const char *value,
                         struct berth_err *err)
{
    if (strcmp(value, "allow") != 0 && strcmp(value, "deny") != 0)
        return berth_err_set(err, PLACE ": raw_args: expected allow or deny, got '%s'",
                             value);
    settings->deny_raw_args = strcmp(value, "deny") == 0;
    return 0;
}

static int take_share(struct berth_settings *settings, const char *value,
                      struct berth_err *err)
{
    if (strcmp(value, "auto") != 0 && strcmp(value, "never") != 0)
        return berth_err_set(err, PLACE ": share: expected auto or never, got '%s'",
                             value);
    settings->never_share = strcmp(value, "never") == 0;
    return 0;
}

static int take_start_timeout(struct berth_settings *settings, const char *value,
                              struct berth_err *err)
{
    char *end;
    long seconds = strtol(value, &end, 10);

    if (!isdigit((unsigned char)*value) || *end || seconds < 1 || seconds > 86400)
        return berth_err_set(err,
                             PLACE ": start_timeout: expected 1 to 86400 seconds, got "
                                   "'%s'",
                             value);
    settings->start_timeout = (unsigned int)seconds;
    return 0;
}

static bool is_pattern(const char *text)
{
    for (const char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_' && *c != '*')
            return false;
    return *text && !isdigit((unsigned char)*text);
}

static int take_patterns(const char *key, const char *value, struct berth_strvec *list,
                         struct berth_err *err)
{
    BERTH_FREE char *copy = strdup(value);
    char *next = copy;
    char *pattern;

    while (copy && (pattern = strsep(&next, ","))) {
        if (!is_pattern(pattern))
            return berth_err_set(err,
                                 PLACE ": %s: '%s' is no variable; expected names "
                                       "separated by commas, with * for any text",
                                 key, pattern);
        berth_strvec_push(list, pattern);
    }
    return copy && !list->failed ? 0 : berth_err_oom(err);
}

static int take_env_capture(struct berth_settings *settings, const char *value,
                            struct berth_err *err)
{
    return take_patterns("env_capture", value, &settings->env_capture, err);
}

static int take_env_deny(struct berth_settings *settings, const char *value,
                         struct berth_err *err)
{
    return take_patterns("env_deny", value, &settings->env_deny, err);
}

static const struct {
    const char *key;
    int (*take)(struct berth_settings *, const char *, struct berth_err *);
} keys[] = {
    {"option_prefix", take_prefix},        {"runtime", take_runtime},
    {"raw_args", take_raw_args},           {"share", take_share},
    {"start_timeout", take_start_timeout}, {"env_capture", take_env_capture},
    {"env_deny", take_env_deny},
};

static int take_word(struct berth_settings *settings, const char *word,
                     struct berth_err *err)
{
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (strlen(keys[i].key) != length || strncmp(word, keys[i].key, length) != 0)
            continue;
        if (!equals)
            return berth_err_set(err, PLACE ": %s: expected %s=VALUE", word, word);
        return keys[i].take(settings, equals + 1, err);
    }
    return berth_err_set(err,
                         PLACE
                         ": '%s' is no setting of berth; expected option_prefix=, "
                         "runtime=, raw_args=, share=, start_timeout=, env_capture= or "
                         "env_deny=",
                         word);
}

int berth_settings_read(int count, char *const *words, struct berth_settings *ret,
                        struct berth_err *err)
{
    int result = 0;

    *ret = (struct berth_settings){
        .option_prefix = strdup(""),
        .start_timeout = START_TIMEOUT,
    };
    if (!ret->option_prefix)
        return berth_err_oom(err);
    for (int i = 0; i < count; i++)
        if (take_word(ret, words[i], result == 0 ? err : NULL) < 0)
            result = -1;
    return result;
}

void berth_settings_fini(struct berth_settings *settings)
{
    free(settings->option_prefix);
    free(settings->runtime);
    berth_strvec_fini(&settings->env_capture);
    berth_strvec_fini(&settings->env_deny);
    *settings = (struct berth_settings){0};
}
