/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/strvec.h"

/* Drop those of PAIRS (source, destination, source, ...) that are in BOUND, because
 * they are mounted for another program, and append the others to BOUND. Out of memory
 * sticks in BOUND. */
void berth_bound_drop(struct berth_strvec *pairs, struct berth_strvec *bound);
