/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines, with a clock that the test sets. */

#include "base/deadline.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"

/* The time that clock_gettime() returns, in milliseconds; 0: the real time, for Check.
 */
static int64_t clock_ms;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock_ms == 0)
        return (int)syscall(SYS_clock_gettime, clock, now);
    now->tv_sec = (time_t)(clock_ms / 1000);
    now->tv_nsec = (long)(clock_ms % 1000) * 1000000;
    return 0;
}

static const struct {
    const char *name;
    int64_t reads[4]; /* milliseconds between two reads; 0: end */
    int64_t left;     /* of 3 seconds, after the last */
} cases[] = {
    {"time passes", {100, 200, 200}, 2500},
    {"a second between two reads counts", {1000, 1000}, 1000},
    {"of a longer stop a second counts", {100, 60000, 100}, 1800},
    {"a process that is stopped twice", {3600000, 3600000, 100}, 900},
    {"the time is over", {1000, 1000, 1000, 200}, -200},
};

TEST_ROWS(time_counts_while_a_process_reads, cases)
{
    struct berth_deadline deadline;
    int64_t left = 0;

    clock_ms = 5000;
    berth_deadline_begin(&deadline, 3);
    for (int i = 0; i < 4 && cases[_i].reads[i]; i++) {
        clock_ms += cases[_i].reads[i];
        left = berth_deadline_left(&deadline);
    }
    clock_ms = 0;
    ck_assert_msg(left == cases[_i].left, "%s: %ld", cases[_i].name, (long)left);
}

/* Two processes that read by turns do not count the same time twice. */
TEST(a_deadline_is_one_clock_for_all_processes)
{
    struct berth_deadline deadline;
    int64_t left;

    clock_ms = 5000;
    berth_deadline_begin(&deadline, 3);
    for (int i = 0; i < 10; i++) {
        clock_ms += 50;
        berth_deadline_left(&deadline);
        berth_deadline_left(&deadline);
    }
    clock_ms -= 10; /* a process read the clock before the last read */
    left = berth_deadline_left(&deadline);
    clock_ms = 0;
    ck_assert_int_eq(left, 2500);
}

static const struct {
    int64_t gone; /* milliseconds */
    int pause;
} pauses[] = {{0, 5},       {20, 5},         {40, 10},
              {4000, 1000}, {240000, 60000}, {3600000, 60000}};

TEST_ROWS(pauses_grow_with_the_time, pauses)
{
    int pause;

    clock_ms = 5000 + pauses[_i].gone;
    pause = berth_clock_pause(5000);
    clock_ms = 0;
    ck_assert_int_eq(pause, pauses[_i].pause);
}
