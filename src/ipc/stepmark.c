/* SPDX-License-Identifier: Apache-2.0 */
/* Marks a job whose programs run in an image. */

#include "ipc/stepmark.h"

#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static socklen_t address_of(uint32_t job, struct sockaddr_un *ret)
{
    int length;

    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    length =
        snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "berth-batch-%u", job);
    return (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1 + (socklen_t)length;
}

static int open_socket(void)
{
    return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int berth_stepmark_open(uint32_t job)
{
    struct sockaddr_un address;
    socklen_t length = address_of(job, &address);
    int fd = open_socket();

    if (fd < 0)
        return -1;
    if (bind(fd, (struct sockaddr *)&address, length) == 0)
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
    struct sockaddr_un address;
    socklen_t length;
    int fd;

    if (!job)
        return;
    fd = open_socket();
    if (fd < 0)
        return;
    length = address_of((uint32_t)strtoul(job, NULL, 10), &address);
    sendto(fd, "", 0, 0, (struct sockaddr *)&address, length);
    close(fd);
}
