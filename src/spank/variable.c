/* SPDX-License-Identifier: Apache-2.0 */
/* What srun has published, on the node. */

#include "spank/variable.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "request/wire.h"

int berth_variable_take(spank_t sp, const char *name, char **ret_text,
                        struct berth_err *err)
{
    BERTH_FREE char *text = malloc(BERTH_WIRE_MAX + 2);
    spank_err_t answer;

    if (!text)
        return berth_err_oom(err);
    answer = spank_getenv(sp, name, text, BERTH_WIRE_MAX + 2);
    spank_unsetenv(sp, name);
    if (answer != ESPANK_SUCCESS && answer != ESPANK_ENV_NOEXIST)
        return berth_err_set(err, "%s: longer than %d bytes; do not set it by hand",
                             name, BERTH_WIRE_MAX);
    *ret_text = answer == ESPANK_SUCCESS ? berth_steal(&text) : NULL;
    return 0;
}
