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
        if (*text == c)
            count++;
    return count;
}

/* The number of components `..` in a path, a list of paths, or a flag with a path. */
static size_t count_parents(const char *text)
{
    size_t count = 0;

    while (*text) {
        size_t length = strcspn(text, "/=,: ");

        if (length == 2 && berth_text_starts(text, ".."))
            count++;
        text += length;
        if (*text)
            text++;
    }
    return count;
}

/* Does TEXT match PATTERN, in which a * is any text but no further value: a * must not
 * let in a second mount, another destination, or a step up? */
static bool is_matched(const char *pattern, const char *text)
{
    static const char separators[] = " ,:";

    for (const char *c = separators; *c; c++)
        if (count_of(pattern, *c) != count_of(text, *c))
            return false;
    if (count_parents(pattern) != count_parents(text))
        return false;
    return fnmatch(pattern, text, 0) == 0;
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

/* The flag at ARGS, joined with the next argument if that is not a flag; *RET_COUNT is
 * how many these are. NULL: out of memory. */
static char *join_value(char *const *args, size_t *ret_count)
{
    bool has_value = args[1] && *args[0] == '-' && *args[1] != '-';
    char *text = NULL;

    *ret_count = 1;
    if (!has_value)
        return strdup(args[0]);
    *ret_count = 2;
    if (asprintf(&text, "%s %s", args[0], args[1]) < 0)
        return NULL;
    return text;
}

int berth_flags_check_args(const struct berth_site *site,
                           const struct berth_strvec *args, struct berth_err *err)
{
    size_t count;

    if (args->count == 0 || site->runtime.raw == BERTH_RAW_ANY)
        return 0;
    if (site->runtime.raw == BERTH_RAW_NONE) {
        berth_err_set(err, BERTH_OPTION_ARGS_DENIED);
        return cite(site, err);
    }
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

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        const char *name = text + strlen(prefixes[i]);

        if (berth_text_starts(text, prefixes[i]) && !is_runtime_setting(name))
            return name;
    }
    return NULL;
}

static bool is_yes(const char *value)
{
    static const char *const yes[] = {"1", "yes", "true", "on"};

    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
        if (strcasecmp(value, yes[i]) == 0)
            return true;
    return false;
}

/* FLAG, NAME=VALUE, as an argument of the runtime, which the caller frees:
 * --name=VALUE, or --name if the value switches it on. NULL: out of memory. */
static char *as_argument(const char *flag)
{
    char *argument = NULL;
    char *equals;

    if (asprintf(&argument, "--%s", flag) < 0)
        return NULL;
    equals = strchr(argument, '=');
    for (char *c = argument; c < equals; c++)
        *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    if (is_yes(equals + 1))
        *equals = '\0';
    return argument;
}

/* Has FLAG a value? With none, or an empty one, it asks for nothing. */
static bool has_value(const char *flag)
{
    const char *equals = strchr(flag, '=');

    return equals && equals[1];
}

int berth_flags_check_environment(const struct berth_site *site,
                                  char *const *environment, struct berth_err *err)
{
    if (site->runtime.raw == BERTH_RAW_ANY)
        return 0;
    for (; *environment; environment++) {
        const char *flag = berth_flags_variable(*environment);
        BERTH_FREE char *argument = NULL;

        if (!flag || !has_value(flag))
            continue;
        argument = as_argument(flag);
        if (!argument)
            return berth_err_oom(err);
        if (is_allowed(site, argument))
            continue;
        berth_err_set(err,
                      "%.*s: this variable is a flag for the container runtime, and "
                      "this site does not allow it; unset it",
                      (int)strcspn(*environment, "="), *environment);
        return cite(site, err);
    }
    return 0;
}

/* May the argument after ARG be its value? */
static bool is_open(const char *arg)
{
    return *arg == '-' && !strchr(arg, '=');
}

/* Is ARG a flag, and not `-` or `--`, after which the runtime reads no flags? */
static bool is_flag(const char *arg)
{
    return *arg == '-' && arg[strspn(arg, "-")];
}

int berth_flags_close(const struct berth_strvec *args, struct berth_strvec *ret,
                      struct berth_err *err)
{
    for (size_t i = 0; i < args->count; i++) {
        const char *arg = args->items[i];
        const char *next = args->items[i + 1]; /* NULL after the last one */

        if (!is_flag(arg))
            return berth_err_set(
                err,
                "--container-args: '%s' is not a flag, nor the value of one; write "
                "--FLAG=VALUE, and the image with --container-image",
                arg);
        if (next && is_open(arg) && !is_flag(next)) {
            berth_strvec_pushf(ret, "%s=%s", arg, next);
            i++;
        } else {
            berth_strvec_push(ret, arg);
        }
    }
    if (args->count)
        berth_strvec_push(ret, "--disable-cache");
    return berth_err_oom_if(ret->failed, err);
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
    for (size_t i = 0; i < items.count; i++) {
        const char *item = items.items[i];

        if (check_unset(site, item, strcspn(item, "="), where, err) < 0)
            return -1;
    }
    return berth_err_oom_if(items.failed, err);
}

/* Refuses a file of variables, which the flag or variable WHERE names. */
static int refuse_file(const struct berth_site *site, const char *where,
                       struct berth_err *err)
{
    berth_err_set(
        err,
        "%s: this site unsets variables in every container, and berth does not "
        "read the file; write --container-env",
        where);
    return berth_site_cite(site, "environment.unset", "", err);
}

/* Is the name of ARG, a flag NAME or NAME=VALUE, FLAG? */
static bool is_called(const char *arg, const char *flag)
{
    size_t length = strcspn(arg, "=");

    return length == strlen(flag) && strncmp(arg, flag, length) == 0;
}

static int check_unset_args(const struct berth_site *site,
                            const struct berth_strvec *args, struct berth_err *err)
{
    for (size_t i = 0; i < args->count; i++) {
        const char *arg = args->items[i];
        const char *equals = strchr(arg, '=');
        const char *value = equals ? equals + 1 : args->items[i + 1];

        if (is_called(arg, "--env-file"))
            return refuse_file(site, "--container-args: --env-file", err);
        if (!value || !is_called(arg, "--env"))
            continue;
        if (check_assignments(site, value, "--container-args: --env", err) < 0)
            return -1;
    }
    return 0;
}

/* Checks VARIABLE, NAME=VALUE of the environment. */
static int check_unset_variable(const struct berth_site *site, const char *variable,
                                struct berth_err *err)
{
    const char *flag = berth_flags_variable(variable);
    BERTH_FREE char *name = NULL;

    if (!flag)
        return 0;
    name = strndup(variable, strcspn(variable, "="));
    if (!name)
        return berth_err_oom(err);
    if (berth_text_starts(flag, "ENV_FILE="))
        return refuse_file(site, name, err);
    if (berth_text_starts(flag, "ENV="))
        return check_assignments(site, flag + strlen("ENV="), name, err);
    return 0;
}

int berth_flags_check_unset(const struct berth_site *site,
                            const struct berth_strvec *args, char *const *environment,
                            struct berth_err *err)
{
    if (site->environment.unset.count == 0)
        return 0;
    if (check_unset_args(site, args, err) < 0)
        return -1;
    for (; environment && *environment; environment++)
        if (check_unset_variable(site, *environment, err) < 0)
            return -1;
    return 0;
}
