/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Closes all descriptors from 3 on but the COUNT (at most 8) in KEEP, which become
 * 3, 4, ... in that order. */
void berth_close_others(const int keep[], size_t count);

/* Detaches the calling process: it gets its own session, /dev/null as standard input
 * and outputs, / as its directory, and all signals blocked (the old mask goes to
 * *RET_MASK, which may be NULL). Other descriptors as berth_close_others(). */
void berth_detach(const int keep[], size_t count, sigset_t *ret_mask);

/* Start a process that the caller does not wait for: the child of a child that ends. It
 * calls BODY with DATA and ends when that returns, since it is a copy of the caller and
 * must not go on as one. BORN (NULL: nobody asks) is called with DATA and its number
 * before the caller goes on. */
int berth_detach_run(void (*body)(void *data), void (*born)(void *data, pid_t pid),
                     void *data, struct berth_err *err);

/* Close every descriptor from FIRST on. */
void berth_close_from(int first);

/* Let no descriptor from FIRST on stay open in a program that is executed. */
void berth_cloexec_from(int first);
