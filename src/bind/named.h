/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "discover/stack.h"

/* Are the NAMES, with commas, those of libraries (profile.h) among STACKS, of which no
 * two stand for one library of an image? Returns 0, or -1 with a sentence in ERR. */
int berth_named_check(const struct berth_stacks *stacks, const char *names,
                      struct berth_err *err);
