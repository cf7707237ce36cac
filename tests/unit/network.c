/* SPDX-License-Identifier: Apache-2.0 */
/* The network that a process uses, by the files that it has open. */

#include "witness/network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

/* The servers, at another address than the client's and at the same. */
static struct sockaddr_in places[2];
static int servers[2];

/* A socket that listens at the address HOST; its port is in RET. */
static int listen_at(const char *host, struct sockaddr_in *ret)
{
    socklen_t length = sizeof(*ret);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    *ret = (struct sockaddr_in){.sin_family = AF_INET};
    inet_pton(AF_INET, host, &ret->sin_addr);
    if (fd < 0 || bind(fd, (struct sockaddr *)ret, length) < 0 || listen(fd, 1) < 0 ||
        getsockname(fd, (struct sockaddr *)ret, &length) < 0)
        _exit(EXIT_FAILURE);
    return fd;
}

/* Connect from 127.0.0.1. */
static void connect_to(const struct sockaddr_in *to)
{
    struct sockaddr_in from = {.sin_family = AF_INET,
                               .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0 ||
        connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0)
        _exit(EXIT_FAILURE);
}

/* l: listens; c: is connected to another address, C: to its own; d: has a device open;
 * /: starts a child, which goes on. */
static void act(char what)
{
    struct sockaddr_in own;

    switch (what) {
    case 'l':
        listen_at("127.0.0.1", &own);
        break;
    case 'c':
        connect_to(&places[0]);
        break;
    case 'C':
        connect_to(&places[1]);
        break;
    case 'd':
        if (open("/dev/full", O_WRONLY) < 0)
            _exit(EXIT_FAILURE);
        break;
    default:
        if (fork() > 0)
            for (;;)
                pause();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
}

static void act_all(const char *acts)
{
    close(servers[0]);
    close(servers[1]);
    for (; *acts; acts++)
        act(*acts);
}

static const struct {
    const char *acts;
    enum berth_network network;
} looks[] = {
    {"", BERTH_NETWORK_UNKNOWN},
    {"l", BERTH_NETWORK_UNKNOWN},
    {"c", BERTH_NETWORK_UNKNOWN},  /* a program that asks a server */
    {"lC", BERTH_NETWORK_UNKNOWN}, /* ranks of one host */
    {"lc", BERTH_NETWORK_TCP},
    {"/lc", BERTH_NETWORK_TCP}, /* a shell waits for it */
    {"d", BERTH_NETWORK_DEVICE},
    {"lcd", BERTH_NETWORK_DEVICE},
    {"lc/d", BERTH_NETWORK_DEVICE},
};

START_TEST(the_network_of_a_process_is_known)
{
    BERTH_STRVEC struct berth_strvec devices = {0};
    pid_t pid;

    servers[0] = listen_at("127.0.0.2", &places[0]);
    servers[1] = listen_at("127.0.0.1", &places[1]);
    berth_strvec_push(&devices, "/dev/berth*");
    berth_strvec_push(&devices, "/dev/ful?");
    pid = unit_process(act_all, looks[_i].acts);
    ck_assert_int_eq(berth_network_inspect(pid, &devices), looks[_i].network);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ck_assert_int_eq(berth_network_inspect(pid, &devices), BERTH_NETWORK_UNKNOWN);
    close(servers[0]);
    close(servers[1]);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("network");

    tcase_add_loop_test(tests, the_network_of_a_process_is_known, 0, COUNT(looks));
    return unit_run("network", tests);
}
