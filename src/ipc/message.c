/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with descriptors, over a socket. */

#include "ipc/message.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"

static int send_with(int socket, const struct berth_message *message, int flags)
{
    unsigned char kind = (unsigned char)message->kind;
    const size_t size = message->fd_count * sizeof(*message->fds);
    char control[CMSG_SPACE(BERTH_MESSAGE_FDS * sizeof(*message->fds))] = {0};
    struct iovec parts[] = {{&kind, 1}, {(void *)message->bytes, message->count}};
    struct msghdr sent = {.msg_iov = parts, .msg_iovlen = 2};
    struct cmsghdr *part;

    if (message->fd_count > 0) {
        sent.msg_control = control;
        sent.msg_controllen = CMSG_SPACE(size);
        part = CMSG_FIRSTHDR(&sent);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(part), message->fds, size);
    }
    if (sendmsg(socket, &sent, MSG_NOSIGNAL | flags) < 0)
        return -1;
    return 0;
}

int berth_message_send(int socket, const struct berth_message *message)
{
    return send_with(socket, message, MSG_DONTWAIT);
}

int berth_message_send_waiting(int socket, const struct berth_message *message)
{
    return send_with(socket, message, 0);
}

/* Take the descriptors that have come as RECEIVED into ROOM. */
static void take_descriptors(struct msghdr *received, struct berth_message_room *room)
{
    const struct cmsghdr *part = CMSG_FIRSTHDR(received);

    for (size_t i = 0; i < room->fd_count; i++)
        room->fds[i] = -1;
    if (part && part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_RIGHTS)
        memcpy(room->fds, CMSG_DATA(part), part->cmsg_len - CMSG_LEN(0));
}

static void close_descriptors(struct berth_message_room *room)
{
    for (size_t i = 0; i < room->fd_count; i++) {
        if (room->fds[i] >= 0)
            close(room->fds[i]);
        room->fds[i] = -1;
    }
}

int berth_message_receive(int socket, struct berth_message_room *room)
{
    unsigned char kind;
    const size_t size = room->fd_count * sizeof(*room->fds);
    char control[CMSG_SPACE(BERTH_MESSAGE_FDS * sizeof(*room->fds))];
    struct iovec parts[] = {{&kind, 1}, {room->bytes, room->size}};
    struct msghdr received = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t got;

    if (room->fd_count > 0) {
        received.msg_control = control;
        /* without the padding of CMSG_SPACE(), in which the kernel would put a
         * descriptor that nobody closes; it drops those without room (unix(7)) */
        received.msg_controllen = CMSG_LEN(size);
    }
    room->count = 0;
    got = recvmsg(socket, &received, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got <= 0)
        received.msg_controllen = 0;
    take_descriptors(&received, room);
    if (got <= 0)
        return (int)got;
    if (received.msg_flags & MSG_TRUNC) {
        close_descriptors(room);
        errno = EMSGSIZE;
        return -1;
    }
    room->count = (size_t)got - 1;
    return kind;
}

int berth_message_send_fds(int socket, int kind, const int fds[], size_t count)
{
    return berth_message_send(
        socket, &(struct berth_message){.kind = kind, .fds = fds, .fd_count = count});
}

int berth_message_send_fd(int socket, int kind, int fd)
{
    if (fd < 0)
        return berth_message_send_fds(socket, kind, NULL, 0);
    return berth_message_send_fds(socket, kind, &fd, 1);
}

int berth_message_send_words(int socket, int kind, const struct berth_strvec *words)
{
    static char *const nothing[] = {NULL};
    BERTH_CLOSE int fd = -1;

    if (words->failed)
        return -1;
    fd = berth_handover_write(words, nothing, NULL);
    if (fd < 0)
        return -1;
    return berth_message_send_fd(socket, kind, fd);
}

int berth_message_receive_fds(int socket, int ret_fds[], size_t count)
{
    struct berth_message_room room = {.fds = ret_fds, .fd_count = count};

    return berth_message_receive(socket, &room);
}

int berth_message_receive_fd(int socket, int *ret_fd)
{
    return berth_message_receive_fds(socket, ret_fd, 1);
}

/* Is FD memory, from which a read does not block, as a handover is? A descriptor of a
 * pipe or of a file system that does not answer would stop this process. */
static bool is_memory(int fd)
{
    enum { MOST = 16 << 20 }; /* words are few; an environment may be long */
    struct stat status;

    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > MOST)
        return false;
    return fcntl(fd, F_GET_SEALS) >= 0; /* no other file has seals */
}

int berth_message_read_handover(int fd, struct berth_handover *ret)
{
    if (is_memory(fd) && berth_handover_read(fd, ret) == 0)
        return 0;
    close(fd);
    return -1;
}
