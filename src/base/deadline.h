/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_BASE_DEADLINE_H
#define BERTH_BASE_DEADLINE_H

#include <stdatomic.h>
#include <stdint.h>

/* Milliseconds of the monotonic clock. */
int64_t berth_clock(void);

/* How long something may take, on a monotonic clock that stands still while the
 * processes that look at it are stopped (scontrol suspend, gang scheduling): of the
 * time between two looks a second counts at most. Who waits looks more often. It may
 * lie in memory that processes share: then it is one clock for all of them. */
struct berth_deadline {
    _Atomic int64_t looked; /* when somebody did last, in milliseconds */
    _Atomic int64_t left;   /* milliseconds, as of then */
};

/* A wait may last so long before the next look. */
enum { BERTH_DEADLINE_LOOK_MS = 200 };

/* SECONDS from now on. Before that, nobody else may look. */
void berth_deadline_begin(struct berth_deadline *deadline, unsigned int seconds);

/* Look: how many milliseconds are left; below 0: how long it is over. */
int64_t berth_deadline_left(struct berth_deadline *deadline);

#endif
