/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the words after the plugin in plugstack.conf. */

#include "site/settings.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PLACE "plugstack.conf"

/* Slurm refuses an option with a name of more than 75 letters, and then srun does not
 * run. */
enum { LONGEST_PREFIX = 32 };

static int check_prefix(const char *value, struct berth_err *err)
{
    if (strlen(value) > LONGEST_PREFIX ||
        value[strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789-")])
        return berth_err_expected(err, "at most 32 small letters, digits and -", value);
    return 0;
}

static int check_config(const char *value, struct berth_err *err)
{
    if (*value != '/')
        return berth_err_expected(err, "an absolute path", value);
    return 0;
}

static const struct {
    const char *key;
    size_t field; /* its offset in struct berth_settings */
    int (*check)(const char *value, struct berth_err *err);
} keys[] = {
    {"option_prefix", offsetof(struct berth_settings, option_prefix), check_prefix},
    {"config", offsetof(struct berth_settings, config), check_config},
};

static int read_word(struct berth_settings *settings, const char *word,
                     struct berth_err *err)
{
    size_t length = strcspn(word, "=");

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        char **field = (char **)((char *)settings + keys[i].field);

        if (strlen(keys[i].key) != length || strncmp(word, keys[i].key, length) != 0)
            continue;
        if (!word[length])
            return berth_err_set(err, PLACE ": %s: expected %s=VALUE", word, word);
        if (keys[i].check(word + length + 1, err) < 0)
            return berth_err_at(err, PLACE ": %s", keys[i].key);
        free(*field);
        *field = strdup(word + length + 1);
        return *field ? 0 : berth_err_oom(err);
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
        if (read_word(ret, words[i], result == 0 ? err : NULL) < 0)
            result = -1;
    return result;
}

void berth_settings_fini(struct berth_settings *settings)
{
    free(settings->option_prefix);
    free(settings->config);
    *settings = (struct berth_settings){0};
}
