/* SPDX-License-Identifier: Apache-2.0 */
/* Finds variables that look like those of options and are not: the program would run
 * without what they ask for, perhaps on the host. */

#include "request/misnamed.h"

#include <stddef.h>
#include <string.h>

#include "base/choice.h"
#include "base/cleanup.h"
#include "base/suggest.h"
#include "base/text.h"
#include "request/defaults.h"
#include "request/option.h"

/* The option, or that of pyxis, with the variable NAME; NULL: there is none. */
static const struct berth_option *find_option(const char *name)
{
    for (int id = 0; id < BERTH_OPTIONS_ALL; id++) {
        char variable[BERTH_DEFAULTS_NAME];

        berth_defaults_name((enum berth_option_id)id, variable);
        if (strcmp(variable, name) == 0)
            return &berth_options[id];
    }
    return NULL;
}

static bool starts_like_option(const char *name)
{
    static const char *const starts[] = {"BERTH_CONTAINER", "BERTH_NO_CONTAINER",
                                         "BERTH_MPI_BIND", NULL};

    return berth_text_starts_any(name, starts);
}

/* Checks NAME, which starts with BERTH_. */
static bool is_misspelled(const char *name, struct berth_err *ret)
{
    char variables[BERTH_OPTION_COUNT][BERTH_DEFAULTS_NAME];
    const char *names[BERTH_OPTION_COUNT + 1] = {NULL};
    const char *meant;

    for (int id = 0; id < BERTH_OPTION_COUNT; id++) {
        berth_defaults_name((enum berth_option_id)id, variables[id]);
        names[id] = variables[id];
    }
    meant = berth_suggest_nearest(name, names, strlen(name) / 8);
    if (meant)
        berth_err_set(ret, "%s is set, which berth does not read; did you mean %s?",
                      name, meant);
    else if (starts_like_option(name))
        berth_err_set(ret,
                      "%s is set, which berth does not read; spank_berth(8) lists its "
                      "variables",
                      name);
    return meant || starts_like_option(name);
}

static bool is_off(const char *value)
{
    return !*value || berth_choice_find("no|0|false", value) >= 0;
}

/* Checks NAME=VALUE, where OPTION is that of BERTH_* with the name of this PYXIS_*. */
static bool is_lost(const struct berth_option *option, const char *name,
                    const char *value, struct berth_err *ret)
{
    const char *rest = name + strlen("PYXIS_");
    bool is_known = option < &berth_options[BERTH_OPTION_COUNT];

    if (is_known)
        berth_err_set(ret, "%s is set, which berth does not read; write BERTH_%s", name,
                      rest);
    else if (option->instead && !is_off(value))
        berth_err_set(ret, "%s is set, which berth does not read; --%s: %s", name,
                      option->name, option->instead);
    else
        return false;
    return true;
}

bool berth_misnamed_is(const char *variable, bool also_pyxis, struct berth_err *ret)
{
    static const char pyxis[] = "PYXIS_";
    size_t length = strcspn(variable, "=");
    BERTH_FREE char *name = strndup(variable, length);
    BERTH_FREE char *own = NULL;
    const struct berth_option *option;

    if (!name || !variable[length])
        return false;
    if (berth_text_starts(name, "BERTH_"))
        return !find_option(name) && is_misspelled(name, ret);
    if (!also_pyxis || !berth_text_starts(name, pyxis) ||
        asprintf(&own, "BERTH_%s", name + strlen(pyxis)) < 0)
        return false;
    option = find_option(own);
    return option && is_lost(option, name, variable + length + 1, ret);
}
