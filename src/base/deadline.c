/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines on the monotonic clock. A stopped process does not use up its deadline. */

#include "base/deadline.h"

#include <time.h>

/* The most that counts between two reads: on a busy node so much may pass, and a
 * process that was stopped loses no more. */
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

    if (gone < FIRST)
        return FIRST;
    if (gone > MOST)
        return MOST;
    return (int)gone;
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

    if (gap <= 0) /* another process has read it meanwhile */
        return atomic_load(&deadline->left);
    if (gap > GAP_MS)
        gap = GAP_MS;
    return atomic_fetch_sub(&deadline->left, gap) - gap;
}
