/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* Replaces in the sentence of ERR each of our options, --NAME, by --PREFIXNAME, as the
 * site calls the option. PREFIX "" changes nothing. */
void berth_spell_options(const char *prefix, struct berth_err *err);
