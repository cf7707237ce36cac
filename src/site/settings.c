/* SPDX-License-Identifier: Apache-2.0 */
/* The words behind the plugin in plugstack.conf. */

#include "site/settings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define PLACE "plugstack.conf"

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

static int take_config(struct berth_settings *settings, const char *value,
                       struct berth_err *err)
{
    if (*value != '/')
        return berth_err_set(err, PLACE ": config: expected an absolute path, got '%s'",
                             value);
    free(settings->config);
    settings->config = strdup(value);
    return settings->config ? 0 : berth_err_oom(err);
}

static const struct {
    const char *key;
    int (*take)(struct berth_settings *, const char *, struct berth_err *);
} keys[] = {
    {"option_prefix", take_prefix},
    {"config", take_config},
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
                         PLACE ": '%s' is not a setting of berth; expected "
                               "option_prefix= or config= (all else is set in "
                               "berth.yaml)",
                         word);
}

int berth_settings_read(int count, char *const *words, struct berth_settings *ret,
                        struct berth_err *err)
{
    int result = 0;

    *ret = (struct berth_settings){.option_prefix = strdup("")};
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
    free(settings->config);
    *settings = (struct berth_settings){0};
}
