/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/strvec.h"

/* An environment as a list of NAME=VALUE that ends in NULL, and as bytes in the form of
 * /proc/PID/environ: the strings one behind the other, each ended by NUL. */

/* The value of NAME (which may be NAME=VALUE) in ENV (which may be NULL), the first;
 * NULL when it is not there. */
const char *berth_environ_value(char *const *env, const char *name);

/* Append the strings in the COUNT bytes at BYTES, which end in NUL, to RET. */
void berth_environ_split(const char *bytes, size_t count, struct berth_strvec *ret);
