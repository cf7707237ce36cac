/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/strvec.h"

/* An environment is a list of NAME=VALUE strings that ends in NULL, or their bytes in
 * the form of /proc/PID/environ: one string after the other, each ended by NUL. */

/* Returns the first value of NAME, which may be written NAME=VALUE, in ENV, which may
 * be NULL; NULL: ENV does not have it. The value belongs to ENV. */
const char *berth_environ_value(char *const *env, const char *name);

/* Append the strings in the COUNT bytes at BYTES, which end in NUL, to RET. */
void berth_environ_split(const char *bytes, size_t count, struct berth_strvec *ret);

/* Append the strings of LIST (ended by NULL; may be NULL) to RET in that form. */
void berth_environ_join(char *const *list, struct berth_buf *ret);

/* Set VARIABLE, NAME=VALUE, in the environment of this process, which gets a copy; one
 * without an equals sign is ignored. Returns 0, or -1 out of memory. */
int berth_environ_set(const char *variable);
