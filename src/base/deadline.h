/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/* Returns the milliseconds of the monotonic clock. */
int64_t berth_clock(void);

/* Returns how many milliseconds to wait before something that began at SINCE, a time of
 * that clock, is polled again: a quarter of the time since, at least 5, at most 60000.
 */
int berth_clock_pause(int64_t since);

/* The time left for a piece of work. It stands still while the processes that read it
 * are stopped (scontrol suspend, gang scheduling): at most one second counts between
 * two reads, so a process that waits must read it more often. Processes can share a
 * deadline in shared memory. */
struct berth_deadline {
    _Atomic int64_t read_at; /* time of the last read, in milliseconds */
    _Atomic int64_t left;    /* milliseconds left at that time */
};

/* The longest wait between two reads. */
enum { BERTH_DEADLINE_POLL_MS = 500 };

/* Sets DEADLINE to SECONDS from now. Call before any process reads it. */
void berth_deadline_begin(struct berth_deadline *deadline, unsigned int seconds);

/* Reads the clock. Returns the milliseconds that are left; below 0: the deadline passed
 * that many milliseconds ago. */
int64_t berth_deadline_left(struct berth_deadline *deadline);
