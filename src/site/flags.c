/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which flags of the container runtime a user may give, as words or as
 * variables that the runtime reads as flags. Knows no flag by its name. */

#include "site/flags.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "request/option.h"

static size_t count_of(const char *text, char c)
{
    size_t count = 0;

    for (; *text; text++)
        count += *text == c;
    return count;
}

/* The number of components `..` in a path, a list of paths, or a flag with a path. */
static size_t count_parents(const char *text)
{
    size_t count = 0;

    while (*text) {
        size_t length = strcspn(text, "/=,: ");

        count += length == 2 && berth_text_starts(text, "..");
        text += length + (text[length] != '\0');
    }
    return count;
}

static bool is_matched(const char *pattern, const char *text)
{
    return count_of(pattern, ' ') == count_of(text, ' ') &&
           count_of(pattern, ',') == count_of(text, ',') &&
           count_of(pattern, ':') == count_of(text, ':') &&
           count_parents(pattern) == count_parents(text) &&
           fnmatch(pattern, text, 0) == 0;
}

static bool is_allowed(const struct berth_site *site, const char *text)
{
    if (site->runtime.raw != BERTH_RAW_LIST)
        return site->runtime.raw == BERTH_RAW_ANY;
    for (size_t i = 0; i < site->runtime.allowed.count; i++)
        if (is_matched(site->runtime.allowed.items[i], text))
            return *text == '-';
    return false;
}

static int cite(const struct berth_site *site, struct berth_err *err)
{
    return berth_site_cite(site, "runtime.raw_args", "", err);
}

/* The flag at WORDS, joined with the next word if that is not a flag. */
static char *join_value(char *const *words, size_t *ret_count)
{
    char *text = NULL;

    *ret_count = words[1] && *words[0] == '-' && *words[1] != '-' ? 2 : 1;
    if (*ret_count == 1)
        return strdup(words[0]);
    return asprintf(&text, "%s %s", words[0], words[1]) < 0 ? NULL : text;
}

int berth_flags_check_args(const struct berth_site *site,
                           const struct berth_strvec *args, struct berth_err *err)
{
    size_t count;

    if (args->count == 0 || site->runtime.raw == BERTH_RAW_ANY)
        return 0;
    if (site->runtime.raw == BERTH_RAW_NONE)
        return berth_err_set(err, BERTH_OPTION_ARGS_DENIED), cite(site, err);
    for (size_t i = 0; i < args->count; i += count) {
        BERTH_FREE char *text = join_value(args->items + i, &count);

        if (!text)
            return berth_err_oom(err);
        if (!is_allowed(site, text))
            return berth_site_refuse(site, "--container-args:", text,
                                     &site->runtime.allowed, "runtime.raw_args", err);
    }
    return 0;
}

/* Variables with the prefix of a flag that are not flags: those that the runtime sets
 * in a container, the directories of its files, and its access to registries, which no
 * step needs. */
static bool is_runtime_setting(const char *name)
{
    static const char *const names[] = {"APPNAME=",
                                        "CACHEDIR=",
                                        "COMMAND=",
                                        "CONFIGDIR=",
                                        "CONTAINER=",
                                        "ENVIRONMENT=",
                                        "KEYSDIR=",
                                        "SYPGPDIR=",
                                        "NAME=",
                                        "MESSAGELEVEL=",
                                        "SHELL=",
                                        "TMPDIR=",
                                        "PULLDIR=",
                                        "PULLFOLDER=",
                                        "LOCALCACHEDIR=",
                                        "NOHTTPS=",
                                        "DOCKER_USERNAME=",
                                        "DOCKER_PASSWORD=",
                                        NULL};

    return berth_text_starts_any(name, names);
}

const char *berth_flags_variable(const char *text)
{
    static const char *const prefixes[] = {"APPTAINER_", "SINGULARITY_"};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (berth_text_starts(text, prefixes[i]))
            return is_runtime_setting(text + strlen(prefixes[i]))
                       ? NULL
                       : text + strlen(prefixes[i]);
    return NULL;
}

static bool is_yes(const char *value)
{
    return strcmp(value, "1") == 0 || strcasecmp(value, "yes") == 0 ||
           strcasecmp(value, "true") == 0 || strcasecmp(value, "on") == 0;
}

/* FLAG, NAME=VALUE, as a word of the runtime. The caller frees it. NULL: FLAG has no
 * value, or out of memory. */
static char *as_word(const char *flag)
{
    const char *value = strchr(flag, '=');
    char *word = NULL;

    if (!value || asprintf(&word, "--%s", flag) < 0)
        return NULL;
    for (char *c = word; *c && *c != '='; c++)
        *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    if (is_yes(value + 1))
        *strchr(word, '=') = '\0';
    return word;
}

int berth_flags_check_environment(const struct berth_site *site,
                                  char *const *environment, struct berth_err *err)
{
    if (site->runtime.raw == BERTH_RAW_ANY)
        return 0;
    for (; *environment; environment++) {
        const char *flag = berth_flags_variable(*environment);
        BERTH_FREE char *word = flag ? as_word(flag) : NULL;

        if (!word || is_allowed(site, word))
            continue;
        berth_err_set(err,
                      "%.*s: this variable is a flag for the container runtime, and "
                      "this site does not allow it; unset it",
                      (int)strcspn(*environment, "="), *environment);
        return cite(site, err);
    }
    return 0;
}
