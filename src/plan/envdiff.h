/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"

/* The runtime makes the environment of a container once, AFTER, from one task's
 * environment, BEFORE. Apply the difference to another task's environment, OWN: remove
 * the variables that the runtime removed, set those that it set or changed, and keep
 * all others (SLURM_PROCID, PMI_FD, ...). BEFORE and AFTER have the form of
 * /proc/PID/environ: NAME=VALUE strings one after the other, each ended by NUL. OWN is
 * ended by NULL. Append the result to RET. Returns 0, or -1 when out of memory. */
int berth_envdiff_apply(const char *before, size_t before_count, const char *after,
                        size_t after_count, char *const *own, struct berth_strvec *ret,
                        struct berth_err *err);

/* Append the strings of LIST (ended by NULL; may be NULL) to RET in the form of
 * /proc/PID/environ. Out of memory sticks in RET. */
void berth_envdiff_flatten(char *const *list, struct berth_buf *ret);
