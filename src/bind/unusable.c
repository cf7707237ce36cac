/* SPDX-License-Identifier: Apache-2.0 */
/* What a step gets to read about profiles whose artifact a node cannot use. */

#include "bind/unusable.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bind/translator.h"
#include "policy/fabric.h"

/* Does REQUEST name PROFILE, which it may use? */
static bool is_named(const struct berth_request *request,
                     const struct berth_profile *profile)
{
    switch (profile->kind) {
    case BERTH_PROFILE_LIBRARIES:
        return true; /* they always are */
    case BERTH_PROFILE_FABRIC:
        return berth_request_names_fabric(request);
    default:
        return berth_request_mpi_is(request, BERTH_MODE_NAME);
    }
}

int berth_unusable_check(const struct berth_profile_set *set,
                         const struct berth_order *order, char **ret_warning,
                         struct berth_err *err)
{
    const struct berth_request *request = &order->request;
    BERTH_FREE char *warning = NULL;
    struct berth_err text;

    for (size_t i = 0; i < set->count; i++) {
        const struct berth_profile *profile = &set->items[i];

        if (!profile->fault || !berth_fabric_may_use(profile, request))
            continue;
        if (is_named(request, profile))
            return berth_err_set(err, "%s", profile->fault);
        if (warning || berth_translator_is_named_only(&order->terms, profile))
            continue;
        berth_err_set(&text, "%s; the profile is not used", profile->fault);
        warning = strdup(text.text);
        if (!warning)
            return berth_err_oom(err);
    }
    *ret_warning = berth_steal(&warning);
    return 0;
}
