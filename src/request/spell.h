/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* Write the options that the sentence names as the site calls them: with PREFIX. */
void berth_spell_options(const char *prefix, struct berth_err *err);
