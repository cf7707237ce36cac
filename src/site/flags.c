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
 * value, or an empty one, with which it asks for nothing; or out of memory. */
static char *as_word(const char *flag)
{
    const char *value = strchr(flag, '=');
    char *word = NULL;

    if (!value || !value[1] || asprintf(&word, "--%s", flag) < 0)
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

/* May the word after WORD be its value? */
static bool is_open(const char *word)
{
    return *word == '-' && !strchr(word, '=');
}

/* Is WORD a flag, and not `-` or `--`, after which the runtime reads no flags? */
static bool is_flag(const char *word)
{
    return *word == '-' && word[strspn(word, "-")];
}

int berth_flags_close(const struct berth_strvec *args, struct berth_strvec *ret,
                      struct berth_err *err)
{
    for (size_t i = 0; i < args->count; i++) {
        const char *word = args->items[i];
        const char *next = i + 1 < args->count ? args->items[i + 1] : NULL;

        if (!is_flag(word))
            return berth_err_set(
                err,
                "--container-args: '%s' is not a flag, nor the value of "
                "one; write --FLAG=VALUE, and the image with "
                "--container-image",
                word);
        if (next && is_open(word) && !is_flag(next)) {
            berth_strvec_pushf(ret, "%s=%s", word, next);
            i++;
        } else {
            berth_strvec_push(ret, word);
        }
    }
    if (args->count)
        berth_strvec_push(ret, "--disable-cache");
    return ret->failed ? berth_err_oom(err) : 0;
}

/* Refuses NAME of LENGTH bytes if SITE unsets it. WHERE the user sets it. */
static int check_unset(const struct berth_site *site, const char *name, size_t length,
                       const char *where, struct berth_err *err)
{
    for (size_t i = 0; i < site->environment.unset.count; i++) {
        const char *unset = site->environment.unset.items[i];

        if (strlen(unset) != length || strncmp(unset, name, length) != 0)
            continue;
        berth_err_set(err,
                      "%s: '%s': this site unsets it in every container; leave it out",
                      where, unset);
        return berth_site_cite(site, "environment.unset", unset, err);
    }
    return 0;
}

/* Checks LIST, NAME=VALUE[,...], the value of the flag env. */
static int check_assignments(const struct berth_site *site, const char *list,
                             const char *where, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec items = {0};

    berth_strvec_split(&items, list);
    for (size_t i = 0; i < items.count; i++)
        if (check_unset(site, items.items[i], strcspn(items.items[i], "="), where,
                        err) < 0)
            return -1;
    return items.failed ? berth_err_oom(err) : 0;
}

/* Checks the flag NAME (env or env-file) with VALUE. */
static int check_setting(const struct berth_site *site, bool is_file, const char *value,
                         const char *where, struct berth_err *err)
{
    if (!is_file)
        return check_assignments(site, value, where, err);
    berth_err_set(
        err,
        "%s: this site unsets variables in every container, and berth does not "
        "read the file; write --container-env",
        where);
    return berth_site_cite(site, "environment.unset", "", err);
}

static int check_unset_words(const struct berth_site *site,
                             const struct berth_strvec *args, struct berth_err *err)
{
    for (size_t i = 0; i < args->count; i++) {
        const char *word = args->items[i];
        const char *next = i + 1 < args->count ? args->items[i + 1] : "";
        size_t length = strcspn(word, "=");
        bool is_file =
            strncmp(word, "--env-file", length) == 0 && length == strlen("--env-file");
        bool is_list = strncmp(word, "--env", length) == 0 && length == strlen("--env");

        if ((is_file || is_list) &&
            check_setting(site, is_file, word[length] ? word + length + 1 : next,
                          is_file ? "--container-args: --env-file"
                                  : "--container-args: --env",
                          err) < 0)
            return -1;
    }
    return 0;
}

int berth_flags_check_unset(const struct berth_site *site,
                            const struct berth_strvec *args, char *const *environment,
                            struct berth_err *err)
{
    if (site->environment.unset.count == 0)
        return 0;
    if (check_unset_words(site, args, err) < 0)
        return -1;
    for (; environment && *environment; environment++) {
        const char *flag = berth_flags_variable(*environment);
        bool is_file = flag && berth_text_starts(flag, "ENV_FILE=");
        bool is_list = flag && berth_text_starts(flag, "ENV=");
        BERTH_FREE char *name = strndup(*environment, strcspn(*environment, "="));

        if (!name)
            return berth_err_oom(err);
        if ((is_file || is_list) &&
            check_setting(site, is_file, strchr(flag, '=') + 1, name, err) < 0)
            return -1;
    }
    return 0;
}
