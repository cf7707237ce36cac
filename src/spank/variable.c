/* SPDX-License-Identifier: Apache-2.0 */
/* Sets in srun, and reads and removes in slurmstepd, the variables of a step. */

#include "spank/variable.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "request/wire.h"

static const char *const names[] = {
    BERTH_STEP_VARIABLE, BERTH_CONTAINERS_VARIABLE, BERTH_LIFETIME_VARIABLE,
    BERTH_SITE_VARIABLE, BERTH_BATCH_VARIABLE,
};

int berth_variable_publish(const char *name, const char *text, struct berth_err *err)
{
    int result;

    if (text)
        result = setenv(name, text, 1);
    else
        result = unsetenv(name);
    return berth_err_oom_if(result < 0, err);
}

bool berth_variable_is_set(spank_t sp, const char *name)
{
    char start[2];
    spank_err_t answer = spank_getenv(sp, name, start, sizeof(start));

    return answer == ESPANK_SUCCESS || answer == ESPANK_NOSPACE;
}

void berth_variable_unset_all(spank_t sp)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (sp)
            spank_unsetenv(sp, names[i]);
        else
            unsetenv(names[i]);
    }
}

int berth_variable_get(spank_t sp, const char *name, char **ret_text,
                       struct berth_err *err)
{
    enum { SIZE = 2 * BERTH_WIRE_MAX + 2 };
    BERTH_FREE char *text = malloc(SIZE);

    if (!text)
        return berth_err_oom(err);
    if (spank_getenv(sp, name, text, SIZE) != ESPANK_SUCCESS)
        return berth_err_damaged(err, "%s", name);
    *ret_text = berth_steal(&text);
    return 0;
}
