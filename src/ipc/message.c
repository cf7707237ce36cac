/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of one byte and one descriptor, over a socket; and its address. */

#include "ipc/message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"

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

struct ucred berth_job_peer(int socket)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
        peer = (struct ucred){.pid = -1, .uid = (uid_t)-1};
    return peer;
}

int berth_job_accept(int listening)
{
    enum { AGAIN_MS = 100 };
    int socket = accept4(listening, NULL, NULL, SOCK_CLOEXEC);

    if (socket < 0 && errno != EAGAIN)
        poll(NULL, 0, AGAIN_MS);
    if (socket < 0 || berth_job_peer(socket).uid == getuid())
        return socket;
    close(socket);
    return -1;
}

int berth_job_send_all(int socket, int kind, const int fds[], size_t count)
{
    char byte = (char)kind;
    char control[CMSG_SPACE(BERTH_JOB_MOST_FDS * sizeof(*fds))] = {0};
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    struct cmsghdr *part;

    if (count > 0) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(*fds));
        part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(count * sizeof(*fds));
        memcpy(CMSG_DATA(part), fds, count * sizeof(*fds));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -1 : 0;
}

int berth_job_send(int socket, int kind, int fd)
{
    return berth_job_send_all(socket, kind, &fd, fd >= 0);
}

int berth_job_send_words(int socket, int kind, const struct berth_strvec *words)
{
    static char *const nothing[] = {NULL};
    BERTH_CLOSE int fd =
        words->failed ? -1 : berth_handover_write(words, nothing, NULL);

    return fd < 0 ? -1 : berth_job_send(socket, kind, fd);
}

/* The room is CMSG_LEN(), without the padding of CMSG_SPACE(): the kernel would put a
 * descriptor that nobody closes there (unix(7): it drops those without room). */
int berth_job_receive_all(int socket, int ret_fds[], size_t count)
{
    char byte;
    char control[CMSG_SPACE(BERTH_JOB_MOST_FDS * sizeof(*ret_fds))];
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = CMSG_LEN(count * sizeof(*ret_fds))};
    struct cmsghdr *part;
    ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    for (size_t i = 0; i < count; i++)
        ret_fds[i] = -1;
    if (got <= 0)
        return (int)got;
    part = CMSG_FIRSTHDR(&message);
    if (part && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS)
        memcpy(ret_fds, CMSG_DATA(part), part->cmsg_len - CMSG_LEN(0));
    return byte;
}

int berth_job_receive(int socket, int *ret_fd)
{
    return berth_job_receive_all(socket, ret_fd, 1);
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
