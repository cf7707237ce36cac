/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of one byte and one descriptor, over a socket; and its address. */

#include "job/message.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

int berth_job_address(uid_t uid, uint32_t job, const char *node,
                      struct sockaddr_un *ret, socklen_t *ret_length)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t room = sizeof(address.sun_path) - 1;
    int length;

    length = snprintf(address.sun_path + 1, room, "berth/%u/%u/%s", uid, job, node);
    if (!*node || length < 0 || (size_t)length >= room)
        return -1;
    *ret = address;
    *ret_length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    return 0;
}

bool berth_job_peer_is(int socket, uid_t uid)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           peer.uid == uid;
}

int berth_job_send(int socket, int kind, int fd)
{
    char byte = (char)kind;
    char control[CMSG_SPACE(sizeof(fd))] = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    struct cmsghdr *part;

    if (fd >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof(control);
        part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(sizeof(fd));
        memcpy(CMSG_DATA(part), &fd, sizeof(fd));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

int berth_job_receive(int socket, int *ret_fd)
{
    char byte;
    char control[CMSG_SPACE(sizeof(*ret_fd))];
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    struct cmsghdr *part;
    ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    *ret_fd = -1;
    if (got <= 0)
        return (int)got;
    part = CMSG_FIRSTHDR(&message);
    if (part && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS)
        memcpy(ret_fd, CMSG_DATA(part), sizeof(*ret_fd));
    return byte;
}

/* A descriptor with seals is memory, from which a read does not block. */
int berth_job_read(int fd, struct berth_handover *ret)
{
    enum { MOST = 16 << 20 }; /* words are few; an environment may be long */
    struct stat status;

    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        fcntl(fd, F_GET_SEALS) >= 0 && status.st_size <= MOST &&
        berth_handover_read(fd, ret) == 0)
        return 0;
    close(fd);
    return -1;
}
