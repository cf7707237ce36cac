/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which flags of the container runtime a rule forbids together with an option.
 */

#include "site/detours.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/choice.h"
#include "base/text.h"
#include "request/option.h"
#include "site/flags.h"

/* A flag that does what an option does. */
struct detour {
    enum berth_option_id id;
    const char *flag;  /* its long name, or that of its variable */
    char letter;       /* its short name; 0: it has none */
    bool is_switch;    /* it has no value, or true or false */
    const char *value; /* only with a value that contains this; NULL: always */
};

static const struct detour detours[] = {
    {BERTH_OPTION_WRITABLE, "writable", 'w', true, NULL},
    {BERTH_OPTION_WRITABLE, "writable-tmpfs", 0, true, NULL},
    {BERTH_OPTION_WRITABLE, "overlay", 'o', false, NULL},
    {BERTH_OPTION_WRITABLE, "overlayimage", 0, false, NULL},
    {BERTH_OPTION_MOUNTS, "bind", 'B', false, NULL},
    {BERTH_OPTION_MOUNTS, "bindpath", 0, false, NULL},
    {BERTH_OPTION_MOUNTS, "mount", 0, false, NULL},
    {BERTH_OPTION_MOUNTS, "home", 'H', false, NULL},
    {BERTH_OPTION_MOUNTS, "overlay", 'o', false, NULL},
    {BERTH_OPTION_MOUNTS, "overlayimage", 0, false, NULL},
    {BERTH_OPTION_MOUNTS, "fusemount", 0, false, NULL},
    {BERTH_OPTION_MOUNTS, "fusespec", 0, false, NULL},
    {BERTH_OPTION_MOUNTS, "data", 0, false, NULL},
    {BERTH_OPTION_MOUNT_HOME, "home", 'H', false, NULL},
    {BERTH_OPTION_NO_MOUNT_HOME, "no-home", 0, true, NULL},
    {BERTH_OPTION_NO_MOUNT_HOME, "no-mount", 0, false, "home"},
    {BERTH_OPTION_REMAP_ROOT, "fakeroot", 'f', true, NULL},
    {BERTH_OPTION_ENV, "env", 0, false, NULL},
    {BERTH_OPTION_ENV, "env-file", 0, false, NULL},
    {BERTH_OPTION_WORKDIR, "pwd", 0, false, NULL},
    {BERTH_OPTION_WORKDIR, "cwd", 0, false, NULL},
    {BERTH_OPTION_UNSHARE, "net", 'n', true, NULL},
    {BERTH_OPTION_UNSHARE, "ipc", 'i', true, NULL},
    {BERTH_OPTION_UNSHARE, "uts", 0, true, NULL},
    {BERTH_OPTION_GPU, "nv", 0, true, NULL},
    {BERTH_OPTION_GPU, "nvccli", 0, true, NULL},
    {BERTH_OPTION_GPU, "rocm", 0, true, NULL},
    {BERTH_OPTION_GPU, "device", 0, false, NULL},
};

enum { DETOURS = sizeof(detours) / sizeof(detours[0]) };

/* Letters of flags that take what follows in the argument as their value. */
static const char valued[] = "BHSWo";

/* A flag as a user wrote it. */
struct given {
    const char *name; /* LENGTH bytes: with - or _, in any case; or letters */
    size_t length;
    bool is_short;
    const char *value; /* NULL: none */
};

static bool has_name(const struct given *given, const char *flag)
{
    if (strlen(flag) != given->length)
        return false;
    for (size_t i = 0; i < given->length; i++) {
        char c = given->name[i] == '_' ? '-' : given->name[i];

        if (tolower((unsigned char)c) != flag[i])
            return false;
    }
    return true;
}

static bool has_letter(const struct given *given, char letter)
{
    for (size_t i = 0; letter && i < given->length; i++) {
        if (given->name[i] == letter)
            return true;
        if (strchr(valued, given->name[i]))
            return false;
    }
    return false;
}

static bool is_off(const char *value)
{
    return !*value || berth_choice_find("0|f|F|false|False|FALSE|no|off", value) >= 0;
}

static bool is_detour(const struct detour *detour, const struct given *given)
{
    bool is_same = given->is_short ? has_letter(given, detour->letter)
                                   : has_name(given, detour->flag);

    if (!is_same)
        return false;
    if (!given->value)
        return true;
    if (detour->is_switch && is_off(given->value))
        return false;
    return !detour->value || strstr(given->value, detour->value);
}

/* Sets the sentence for what is GIVEN, written as TEXT of LENGTH bytes, if a rule for
 * JOB forbids it. */
static int check(const struct berth_site *site, const struct berth_rules_job *job,
                 const struct given *given, const char *text, size_t length,
                 struct berth_err *err)
{
    for (int i = 0; i < DETOURS; i++) {
        unsigned int line = berth_rules_forbidden(site, job, detours[i].id);

        if (line && is_detour(&detours[i], given))
            return berth_err_set(err,
                                 "'%.*s': it does what --%s does, which a rule of this "
                                 "site forbids; leave it out (%s:%u)",
                                 (int)length, text, berth_options[detours[i].id].name,
                                 site->file, line);
    }
    return 0;
}

/* The value of the flag ARG, after its `=`, or in the argument NEXT (NULL: there is
 * none) if that is not a flag; NULL: it has no value. */
static const char *value_of(const char *arg, const char *next)
{
    const char *equals = strchr(arg, '=');

    if (equals)
        return equals + 1;
    return next && *next != '-' ? next : NULL;
}

static int check_args(const struct berth_site *site, const struct berth_rules_job *job,
                      const struct berth_strvec *args, struct berth_err *err)
{
    for (size_t i = 0; i < args->count; i++) {
        const char *arg = args->items[i];
        const char *next = args->items[i + 1]; /* NULL after the last one */
        const size_t dashes = berth_text_starts(arg, "--") ? 2 : 1;
        const size_t length = strcspn(arg, "=");
        const struct given given = {
            .name = arg + dashes,
            .length = length - dashes,
            .is_short = dashes == 1,
            .value = value_of(arg, next),
        };

        if (*arg != '-' || length <= dashes)
            continue;
        if (check(site, job, &given, arg, strlen(arg), err) < 0)
            return berth_err_at(err, "--container-args");
    }
    return 0;
}

/* Refuses VARIABLE, NAME=VALUE, whose NAME has LENGTH bytes, because a rule on LINE of
 * berth.yaml forbids the option ID. */
static int refuse_variable(const struct berth_site *site, const char *variable,
                           size_t length, enum berth_option_id id, unsigned int line,
                           struct berth_err *err)
{
    return berth_err_set(err,
                         "%.*s: this variable is for the container runtime, and a rule "
                         "of this site forbids --%s; unset it (%s:%u)",
                         (int)length, variable, berth_options[id].name, site->file,
                         line);
}

static int check_variable(const struct berth_site *site,
                          const struct berth_rules_job *job, const char *variable,
                          struct berth_err *err)
{
    static const char *const prefixes[] = {"APPTAINERENV_", "SINGULARITYENV_", NULL};
    const size_t length = strcspn(variable, "=");
    const char *flag = berth_flags_variable(variable);
    const unsigned int env = berth_rules_forbidden(site, job, BERTH_OPTION_ENV);
    const unsigned int args = berth_rules_forbidden(site, job, BERTH_OPTION_ARGS);
    struct given given = {.name = flag};

    if (!variable[length])
        return 0;
    if (env && berth_text_starts_any(variable, prefixes))
        return refuse_variable(site, variable, length, BERTH_OPTION_ENV, env, err);
    /* the runtime sets empty ones in each container: they ask for nothing */
    if (!flag || !flag[strcspn(flag, "=") + 1])
        return 0;
    if (args)
        return refuse_variable(site, variable, length, BERTH_OPTION_ARGS, args, err);
    given.length = strcspn(flag, "=");
    given.value = flag + given.length + 1;
    return check(site, job, &given, variable, length, err);
}

int berth_detours_check(const struct berth_site *site,
                        const struct berth_rules_job *job,
                        const struct berth_request *request, char *const *environment,
                        struct berth_err *err)
{
    if (check_args(site, job, &request->args, err) < 0)
        return -1;
    for (; environment && *environment; environment++)
        if (check_variable(site, job, *environment, err) < 0)
            return -1;
    return 0;
}
