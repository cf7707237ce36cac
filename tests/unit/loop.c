/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a server. */

#include "ipc/loop.h"

#include <unistd.h>

#include "unit.h"

enum { PIPES = 40 };

static struct berth_loop loop;

/* A pipe, and when its function was called; 0: not yet. */
struct one {
    int ends[2];
    int turn;
};
static struct one ones[PIPES];
static int turns;

static void note(void *data)
{
    struct one *one = data;

    turns++;
    one->turn = turns;
}

/* Make the first COUNT pipes. Those with a byte in them are ready. */
static void make_pipes(int count, void (*ready)(void *data))
{
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(pipe(ones[i].ends), 0);
        ck_assert_int_eq(berth_loop_add(&loop, ones[i].ends[0], ready, &ones[i]), 0);
    }
}

static void make_ready(int i)
{
    ck_assert_int_eq(write(ones[i].ends[1], "!", 1), 1);
}

TEST(those_that_are_ready_are_called_the_last_first)
{
    make_pipes(PIPES, note);
    make_ready(0);
    make_ready(7);
    close(ones[PIPES - 1].ends[1]); /* an end of file can be read, too */
    ck_assert_int_eq(berth_loop_wait(&loop, -1), 3);
    ck_assert_int_eq(ones[PIPES - 1].turn, 1);
    ck_assert_int_eq(ones[7].turn, 2);
    ck_assert_int_eq(ones[0].turn, 3);
    ck_assert_int_eq(turns, 3);
}

TEST(the_time_is_over)
{
    make_pipes(1, note);
    ck_assert_int_eq(berth_loop_wait(&loop, 1), 0);
    ck_assert_int_eq(turns, 0);
}

/* Remove all but itself, and add one that is ready. */
static void change(void *data)
{
    note(data);
    for (int i = 0; i < 3; i++)
        if (&ones[i] != data)
            berth_loop_remove(&loop, ones[i].ends[0]);
    ck_assert_int_eq(pipe(ones[3].ends), 0);
    make_ready(3);
    ck_assert_int_eq(berth_loop_add(&loop, ones[3].ends[0], note, &ones[3]), 0);
}

TEST(a_function_may_remove_and_add)
{
    make_pipes(3, change);
    for (int i = 0; i < 3; i++)
        make_ready(i);
    berth_loop_wait(&loop, -1);
    ck_assert_int_eq(turns, 1);
    ck_assert_int_eq(ones[2].turn, 1);
    berth_loop_remove(&loop, ones[2].ends[0]);
    ck_assert_int_eq(berth_loop_wait(&loop, -1), 1);
    ck_assert_int_eq(ones[3].turn, 2);
}
