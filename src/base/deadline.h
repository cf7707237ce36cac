/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/* Milliseconds of the monotonic clock. */
int64_t berth_clock(void);

/* Milliseconds to wait before the next look at something that began at SINCE, of that
 * clock: a quarter of the time that has gone by, at least 5 and at most 60000. */
int berth_clock_pause(int64_t since);

/* The time that is left for something, on a monotonic clock that stands still while the
 * processes that read it are stopped (scontrol suspend, gang scheduling): at most one
 * second counts between two reads, so a process that waits reads it more often. A
 * deadline in shared memory is one clock for all processes. */
struct berth_deadline {
    _Atomic int64_t read_at; /* when somebody did last, in milliseconds */
    _Atomic int64_t left;    /* milliseconds, as of then */
};

/* The longest wait between two reads. */
enum { BERTH_DEADLINE_POLL_MS = 200 };

/* Begins DEADLINE: SECONDS from now. No other process may read it before. */
void berth_deadline_begin(struct berth_deadline *deadline, unsigned int seconds);

/* Reads the clock. Returns the milliseconds that are left; below 0: since when they are
 * over. */
int64_t berth_deadline_left(struct berth_deadline *deadline);
