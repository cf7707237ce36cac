/* SPDX-License-Identifier: Apache-2.0 */
/* Abstract addresses, and that of a job's server. */

#include "job/protocol.h"

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "unit.h"

/* A socket of that name; -1: somebody else has it. */
static int bound(uid_t uid, uint32_t job, const char *node)
{
    struct berth_address address;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    ck_assert_int_eq(berth_job_address(uid, job, node, &address), 0);
    if (berth_address_bind(fd, &address) == 0)
        return fd;
    close(fd);
    return -1;
}

TEST(it_says_whose_it_is)
{
    static const char text[] = "\0berth/2001/4294901760/n1";
    struct berth_address address;

    ck_assert_int_eq(berth_job_address(2001, 4294901760U, "n1", &address), 0);
    ck_assert_int_eq(address.name.sun_family, AF_UNIX);
    ck_assert_uint_eq(address.length,
                      offsetof(struct sockaddr_un, sun_path) + sizeof(text) - 1);
    ck_assert_mem_eq(address.name.sun_path, text, sizeof(text) - 1);
    ck_assert_str_eq(berth_address_text(&address), text + 1);
}

/* Of a socket with a name, of its other side, and of one without a name. */
TEST(a_socket_knows_its_address)
{
    struct berth_address address, found;
    int server = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    int client = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    ck_assert_int_eq(berth_address_make(&address, "unit.%d", getpid()), 0);
    ck_assert_int_eq(berth_address_bind(server, &address), 0);
    ck_assert_int_eq(listen(server, 1), 0);
    ck_assert_int_eq(berth_address_connect(client, &address), 0);

    ck_assert_int_eq(berth_address_of(server, &found), 0);
    ck_assert_str_eq(berth_address_text(&found), berth_address_text(&address));
    ck_assert_uint_eq(found.length, address.length);
    ck_assert_int_eq(berth_address_of_peer(client, &found), 0);
    ck_assert_str_eq(berth_address_text(&found), berth_address_text(&address));
    ck_assert_int_eq(berth_address_of(client, &found), -1);
    close(client);
    close(server);
}

TEST(a_socket_of_a_file_has_no_abstract_address)
{
    char *directory = unit_directory();
    char *path = unit_path(directory, "socket");
    struct sockaddr_un file = {.sun_family = AF_UNIX};
    struct berth_address found;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    snprintf(file.sun_path, sizeof(file.sun_path), "%s", path);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&file, sizeof(file)), 0);
    ck_assert_int_eq(berth_address_of(fd, &found), -1);
    close(fd);
    unit_remove(directory);
    free(path);
    free(directory);
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
    struct berth_address address = {.name = {.sun_family = AF_UNSPEC}};

    memset(node, 'n', names[_i].length);
    ck_assert_int_eq(berth_job_address(1, 2, node, &address), names[_i].answer);
    ck_assert_int_eq(address.name.sun_family, names[_i].answer ? AF_UNSPEC : AF_UNIX);
}
