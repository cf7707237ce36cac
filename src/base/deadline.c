/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of what may take some time and no more. */

#include "base/deadline.h"

#include <time.h>

/* On a busy node this much time may pass between two looks. A process that was stopped
 * loses as much of its time. */
enum { GAP_MS = 1000 };

int64_t berth_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

int berth_clock_pause(int64_t since)
{
    enum { FIRST = 5, MOST = 60000, PART = 4 };
    int64_t gone = (berth_clock() - since) / PART;

    return gone < FIRST ? FIRST : gone < MOST ? (int)gone : MOST;
}

void berth_deadline_begin(struct berth_deadline *deadline, unsigned int seconds)
{
    atomic_store(&deadline->left, seconds * INT64_C(1000));
    atomic_store(&deadline->read_at, berth_clock());
}

int64_t berth_deadline_left(struct berth_deadline *deadline)
{
    int64_t now = berth_clock();
    int64_t gap = now - atomic_exchange(&deadline->read_at, now);

    if (gap <= 0) /* somebody has read_at meanwhile */
        return atomic_load(&deadline->left);
    if (gap > GAP_MS)
        gap = GAP_MS;
    return atomic_fetch_sub(&deadline->left, gap) - gap;
}
