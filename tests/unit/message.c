/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of a kind, bytes and descriptors. */

#include "ipc/message.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "unit.h"

static int ends[2];

static void setup(void)
{
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
}

static void teardown(void)
{
    close(ends[0]);
    close(ends[1]);
}

TEST(a_message_has_a_kind_bytes_and_descriptors)
{
    const int sent[] = {STDIN_FILENO, STDOUT_FILENO};
    const struct berth_message message = {
        .kind = 200, .bytes = "abc", .count = 3, .fds = sent, .fd_count = 2};
    char bytes[8] = "";
    int fds[3];
    struct berth_message_room room = {
        .bytes = bytes, .size = sizeof(bytes), .fds = fds, .fd_count = 3};

    ck_assert_int_eq(berth_message_send(ends[0], &message), 0);
    ck_assert_int_eq(berth_message_receive(ends[1], &room), 200);
    ck_assert_uint_eq(room.count, 3);
    ck_assert_str_eq(bytes, "abc");
    ck_assert_int_eq(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
    ck_assert_int_eq(fcntl(fds[1], F_GETFD), FD_CLOEXEC);
    ck_assert_int_eq(fds[2], -1);
}

TEST(a_message_may_have_neither)
{
    const struct berth_message message = {.kind = 1};
    int fd;
    struct berth_message_room room = {.fds = &fd, .fd_count = 1};

    ck_assert_int_eq(berth_message_receive(ends[1], &room), -1);
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_eq(berth_message_send(ends[0], &message), 0);
    ck_assert_int_eq(berth_message_receive(ends[1], &room), 1);
    ck_assert_uint_eq(room.count, 0);
    ck_assert_int_eq(fd, -1);
    shutdown(ends[0], SHUT_WR);
    ck_assert_int_eq(berth_message_receive(ends[1], &room), 0);
}

/* A part of it would be taken for the whole. */
TEST(a_message_that_is_too_long_is_none)
{
    static const int sent = STDIN_FILENO;
    const struct berth_message message = {
        .kind = 1, .bytes = "abc", .count = 3, .fds = &sent, .fd_count = 1};
    char bytes[2];
    int fd;
    struct berth_message_room room = {
        .bytes = bytes, .size = sizeof(bytes), .fds = &fd, .fd_count = 1};
    int next = dup(STDIN_FILENO);

    close(next);
    ck_assert_int_eq(berth_message_send(ends[0], &message), 0);
    ck_assert_int_eq(berth_message_receive(ends[1], &room), -1);
    ck_assert_int_eq(errno, EMSGSIZE);
    ck_assert_int_eq(fd, -1);
    ck_assert_int_eq(fcntl(next, F_GETFD), -1);
}

/* Else a server would hang on a client that reads nothing. */
TEST(a_message_without_room_in_the_socket_is_not_waited_for)
{
    static char bytes[30000];
    const struct berth_message message = {
        .kind = 1, .bytes = bytes, .count = sizeof(bytes)};
    int result = 0;

    for (int i = 0; i < 100000 && result == 0; i++)
        result = berth_message_send(ends[0], &message);
    ck_assert_int_eq(result, -1);
    ck_assert_int_eq(errno, EAGAIN);
}

void unit_prepare(TCase *tests)
{
    tcase_add_checked_fixture(tests, setup, teardown);
}
