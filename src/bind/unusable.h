/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "plan/order.h"
#include "site/profiles.h"

/* Refuses the request of ORDER if it names a profile of SET whose artifact this node
 * cannot use. If the request only leaves the choice to berth, sets *RET_WARNING to a
 * sentence about the first such profile, which the caller frees; NULL: there is none.
 * Returns 0, or -1 with a sentence in ERR. */
int berth_unusable_check(const struct berth_profile_set *set,
                         const struct berth_order *order, char **ret_warning,
                         struct berth_err *err);
