/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"

/* The runtime makes the environment of the image once, from one task's environment.
 * This applies the difference to another task's environment: variables that the runtime
 * removed are removed, those that it set or changed are set, and all others
 * (SLURM_PROCID, PMI_FD, ...) stay the task's own. BEFORE and AFTER are NAME=VALUE
 * strings one behind the other, each ended by NUL, as in /proc/PID/environ; OWN is the
 * task's, ended by NULL. Appends to RET. */
int berth_envdiff_apply(const char *before, size_t before_count, const char *after,
                        size_t after_count, char *const *own, struct berth_strvec *ret,
                        struct berth_err *err);

/* Append the strings of LIST (ended by NULL; may be NULL) to RET in that form. */
void berth_envdiff_flatten(char *const *list, struct berth_buf *ret);
