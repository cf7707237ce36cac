/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Is VARIABLE, NAME=VALUE, one by which a user may want to give an option, and which
 * berth does not read, a misspelled BERTH_*? Then *RET has the sentence for a warning.
 *
 * A name that starts with BERTH_ only is no mistake: modules set names like BERTH_ROOT.
 * It is one if it is near to the name of a variable, or starts like those. */
bool berth_misnamed_is(const char *variable, struct berth_err *ret);
