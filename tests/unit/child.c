/* SPDX-License-Identifier: Apache-2.0 */
/* Children that run a function. */

#include "base/child.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/run.h"
#include "unit.h"

static int return_number(void *data)
{
    return *(const int *)data;
}

TEST(a_child_ends_with_what_its_body_returns)
{
    int number = 42;
    int status = berth_run_wait(berth_child(return_number, &number, 0));

    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 42);
}

static int wait_for_ever(int channel, void *data)
{
    (void)data;
    send(channel, "!", 1, 0);
    for (;;)
        pause();
    return 0;
}

/* In a child, which ends while a child of its own waits. */
static int leave_another(void *data)
{
    char byte;
    int channel;

    (void)data;
    if (berth_child_with_channel(wait_for_ever, NULL, SIGKILL, &channel) < 0)
        return EXIT_FAILURE;
    return recv(channel, &byte, 1, 0) != 1;
}

TEST(a_child_dies_with_its_parent_if_asked_to)
{
    struct pollfd left = {.events = POLLIN};
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(berth_run_wait(berth_child(leave_another, NULL, 0)), 0);
    close(ends[1]);
    /* at its end when no process has the other end */
    left.fd = ends[0];
    ck_assert_int_eq(poll(&left, 1, 10000), 1);
    close(ends[0]);
}

static int answer(int channel, void *data)
{
    char byte;

    (void)data;
    if (recv(channel, &byte, 1, 0) != 1)
        return EXIT_FAILURE;
    byte++;
    return send(channel, &byte, 1, 0) != 1;
}

TEST(a_channel_leads_to_the_child_and_ends_with_it)
{
    char byte = 'a';
    int channel;
    pid_t child = berth_child_with_channel(answer, NULL, 0, &channel);

    ck_assert_int_gt(child, 0);
    ck_assert_int_eq(send(channel, &byte, 1, 0), 1);
    ck_assert_int_eq(recv(channel, &byte, 1, 0), 1);
    ck_assert_int_eq(byte, 'b');
    ck_assert_int_eq(recv(channel, &byte, 1, 0), 0);
    ck_assert_int_eq(berth_run_wait(child), 0);
}
