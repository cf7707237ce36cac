/* SPDX-License-Identifier: Apache-2.0 */
/* The address of a job's server. */

#include "job/protocol.h"

#include <stddef.h>
#include <unistd.h>

#include "unit.h"

/* A socket of that name; -1: somebody else has it. */
static int bound(uid_t uid, uint32_t job, const char *node)
{
    struct sockaddr_un address;
    socklen_t length;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    ck_assert_int_eq(berth_job_address(uid, job, node, &address, &length), 0);
    if (bind(fd, (struct sockaddr *)&address, length) == 0)
        return fd;
    close(fd);
    return -1;
}

TEST(it_says_whose_it_is)
{
    static const char text[] = "\0berth/2001/4294901760/n1";
    struct sockaddr_un address;
    socklen_t length;

    ck_assert_int_eq(berth_job_address(2001, 4294901760U, "n1", &address, &length), 0);
    ck_assert_int_eq(address.sun_family, AF_UNIX);
    ck_assert_uint_eq(length,
                      offsetof(struct sockaddr_un, sun_path) + sizeof(text) - 1);
    ck_assert_mem_eq(address.sun_path, text, sizeof(text) - 1);
}

TEST(it_is_bound_once_for_each_user_job_and_node)
{
    uint32_t job = (uint32_t)getpid();
    const int fds[] = {bound(1, job, "a"), bound(2, job, "a"), bound(1, job, "ab")};

    for (int i = 0; i < COUNT(fds); i++)
        ck_assert_int_ge(fds[i], 0);
    ck_assert_int_eq(bound(1, job, "a"), -1);
    for (int i = 0; i < COUNT(fds); i++)
        close(fds[i]);
}

static const struct {
    size_t length; /* of the node's name */
    int answer;
} names[] = {{0, -1}, {1, 0}, {63, 0}, {96, 0}, {97, -1}, {200, -1}};

/* "berth/1/2/" has 10 characters, and an address has room for 107. */
TEST_ROWS(a_name_that_does_not_fit_is_none, names)
{
    char node[256] = "";
    struct sockaddr_un address = {.sun_family = AF_UNSPEC};
    socklen_t length;

    memset(node, 'n', names[_i].length);
    ck_assert_int_eq(berth_job_address(1, 2, node, &address, &length),
                     names[_i].answer);
    ck_assert_int_eq(address.sun_family, names[_i].answer ? AF_UNSPEC : AF_UNIX);
}
