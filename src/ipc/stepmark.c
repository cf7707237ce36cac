/* SPDX-License-Identifier: Apache-2.0 */
/* Marks a job whose programs run in an image. */

#include "ipc/stepmark.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ipc/address.h"

static struct berth_address address_of(uint32_t job)
{
    struct berth_address address = {0};

    berth_address_make(&address, "berth-batch-%u", job); /* it fits */
    return address;
}

static int open_socket(void)
{
    return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int berth_stepmark_open(uint32_t job)
{
    const struct berth_address address = address_of(job);
    int fd = open_socket();

    if (fd < 0)
        return -1;
    if (berth_address_bind(fd, &address) == 0)
        return fd;
    close(fd);
    return -1;
}

bool berth_stepmark_has(int fd)
{
    struct pollfd mark = {.fd = fd, .events = POLLIN};

    return poll(&mark, 1, 0) == 1;
}

void berth_stepmark_send(const char *job)
{
    struct berth_address address;
    BERTH_CLOSE int fd = -1;

    if (!job)
        return;
    address = address_of((uint32_t)strtoul(job, NULL, 10));
    fd = open_socket();
    if (berth_address_connect(fd, &address) == 0)
        send(fd, "", 0, 0);
}
