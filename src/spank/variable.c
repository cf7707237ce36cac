/* SPDX-License-Identifier: Apache-2.0 */
/* Sets in srun, and reads and removes in slurmstepd, the variables of a step. */

#include "spank/variable.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "request/wire.h"

static const char *const names[] = {
    BERTH_STEP_VARIABLE,       BERTH_ENV_VARIABLE,      BERTH_ALLOCATION_VARIABLE,
    BERTH_CONTAINERS_VARIABLE, BERTH_LIFETIME_VARIABLE,
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

void berth_variable_unset_all(void)
{
    for (int i = 0; i < NAMES; i++)
        unsetenv(names[i]);
}

int berth_variable_publish(const char *name, const char *text, struct berth_err *err)
{
    int result = text ? setenv(name, text, 1) : unsetenv(name);

    return result < 0 ? berth_err_oom(err) : 0;
}

bool berth_variable_is_set(spank_t sp, const char *name)
{
    char start[2];
    spank_err_t answer = spank_getenv(sp, name, start, sizeof(start));

    return answer == ESPANK_SUCCESS || answer == ESPANK_NOSPACE;
}

void berth_variable_remove_all(spank_t sp)
{
    for (int i = 0; i < NAMES; i++)
        spank_unsetenv(sp, names[i]);
}

int berth_variable_remove(spank_t sp, const char *name, char **ret_text,
                          struct berth_err *err)
{
    BERTH_FREE char *text = malloc(BERTH_WIRE_MAX + 2);
    spank_err_t answer;

    if (!text)
        return berth_err_oom(err);
    answer = spank_getenv(sp, name, text, BERTH_WIRE_MAX + 2);
    spank_unsetenv(sp, name);
    if (answer != ESPANK_SUCCESS && answer != ESPANK_ENV_NOEXIST)
        return berth_err_damaged(err, "%s", name);
    *ret_text = answer == ESPANK_SUCCESS ? berth_steal(&text) : NULL;
    return 0;
}
