/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Closes all descriptors from 3 on except the COUNT (at most 8) in KEEP, which become
 * 3, 4, ... in that order. Raises the limit of descriptors (RLIMIT_NOFILE) to the hard
 * one. */
void berth_close_others(const int keep[], size_t count);

/* Detaches the calling process: it gets its own session, /dev/null as standard input
 * and outputs, / as its directory, and all signals blocked (the old mask goes to
 * *RET_MASK, which may be NULL). KEEP and COUNT are those of berth_close_others().
 * Returns 0; -1 with errno: there is no /dev/null, and the process must end, because it
 * still has the old input and outputs. */
int berth_detach(const int keep[], size_t count, sigset_t *ret_mask);

/* Start a process that is not the caller's child, so that the caller need not wait for
 * it: the child of a child that ends. The process calls BODY with DATA and ends when
 * BODY returns. BORN, which may be NULL, is called with DATA and the process's number
 * before this function returns; it runs in the child that ends, not in the caller. */
int berth_detach_run(void (*body)(void *data), void (*born)(void *data, pid_t pid),
                     void *data, struct berth_err *err);

/* Close every descriptor from FIRST on. */
void berth_close_from(int first);

/* Mark every descriptor from FIRST on close-on-exec. */
void berth_cloexec_from(int first);
