/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the words after the plugin in plugstack.conf. */

#include "site/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define PLACE "plugstack.conf"

/* Slurm refuses an option with a name of more than 75 letters, and then srun does not
 * run. */
enum { LONGEST_PREFIX = 32 };

/* Returns the rest of TEXT after START; NULL: TEXT does not start with START. */
static const char *after(const char *text, const char *start)
{
    return berth_text_starts(text, start) ? text + strlen(start) : NULL;
}

static int set(char **field, const char *value, struct berth_err *err)
{
    free(*field);
    *field = strdup(value);
    return *field ? 0 : berth_err_oom(err);
}

static int read_word(struct berth_settings *settings, const char *word,
                     struct berth_err *err)
{
    const char *prefix = after(word, "option_prefix=");
    const char *config = after(word, "config=");

    if (prefix && (strlen(prefix) > LONGEST_PREFIX ||
                   prefix[strspn(prefix, "abcdefghijklmnopqrstuvwxyz0123456789-")]))
        return berth_err_expected(err, "at most 32 small letters, digits and -",
                                  prefix),
               berth_err_at(err, PLACE ": option_prefix");
    if (config && *config != '/')
        return berth_err_expected(err, "an absolute path", config),
               berth_err_at(err, PLACE ": config");
    if (prefix)
        return set(&settings->option_prefix, prefix, err);
    if (config)
        return set(&settings->config, config, err);
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
