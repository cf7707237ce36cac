/* SPDX-License-Identifier: Apache-2.0 */
/* Finds variables that look like those of options and are not: the program would run
 * without what they ask for, perhaps on the host. */

#include "request/misnamed.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/suggest.h"
#include "base/text.h"
#include "request/defaults.h"
#include "request/option.h"

/* Is NAME the variable of an option, or of one of pyxis? */
static bool is_option(const char *name)
{
    for (int id = 0; id < BERTH_OPTIONS_ALL; id++) {
        char variable[BERTH_DEFAULTS_NAME];

        berth_defaults_name((enum berth_option_id)id, variable);
        if (strcmp(variable, name) == 0)
            return true;
    }
    return false;
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

bool berth_misnamed_is(const char *variable, struct berth_err *ret)
{
    BERTH_FREE char *name = NULL;

    if (!berth_text_starts(variable, "BERTH_") || !strchr(variable, '='))
        return false;
    name = strndup(variable, strcspn(variable, "="));
    return name && !is_option(name) && is_misspelled(name, ret);
}
