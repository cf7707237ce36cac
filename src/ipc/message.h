/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "ipc/handover.h"

/* A message between two processes of berth, over a socket that keeps messages whole
 * (SOCK_SEQPACKET): its kind, from 1 to 255; bytes, and descriptors, of both maybe
 * none. The kinds are those of one conversation: inside/hostcommand.h, ipc/channel.h,
 * run/taskserver.h, job/protocol.h. Borrows everything. */
enum { BERTH_MESSAGE_FDS = 4 }; /* the most descriptors of a message */
struct berth_message {
    int kind;
    const void *bytes;
    size_t count; /* of the bytes */
    const int *fds;
    size_t fd_count;
};

/* Send MESSAGE, if there is room for it in the socket: a server does not wait for a
 * client that reads nothing. Or wait for that room. Return 0, or -1 with errno. */
int berth_message_send(int socket, const struct berth_message *message);
int berth_message_send_waiting(int socket, const struct berth_message *message);

/* The room for a message, which the caller has. */
struct berth_message_room {
    void *bytes;
    size_t size; /* of the room for bytes */
    int *fds;
    size_t fd_count; /* how many descriptors it may have; others are closed */

    size_t count; /* set by berth_message_receive(): of the bytes that have come */
};

/* Receive the next message into ROOM; the caller owns its descriptors, which close on
 * exec, and of which those that did not come are -1. Returns the kind; 0: the other
 * side has ended; -1 with errno (EAGAIN: there is no message yet; EMSGSIZE: it has more
 * bytes than there is room for). */
int berth_message_receive(int socket, struct berth_message_room *room);

/* Send a message of KIND with the descriptor FD (-1: none). Returns 0, or -1 with
 * errno. */
int berth_message_send_fd(int socket, int kind, int fd);

/* The same with COUNT descriptors, at most BERTH_MESSAGE_FDS. */
int berth_message_send_fds(int socket, int kind, const int fds[], size_t count);

/* Send a message of KIND with a handover of WORDS. Returns 0, or -1. */
int berth_message_send_words(int socket, int kind, const struct berth_strvec *words);

/* Receive the next message; *RET_FD is its descriptor, which the caller owns, or -1.
 * Returns its kind; 0: the other side has ended; -1 with errno (EAGAIN: there is no
 * message yet). */
int berth_message_receive_fd(int socket, int *ret_fd);

/* The same with COUNT descriptors, at most BERTH_MESSAGE_FDS. */
int berth_message_receive_fds(int socket, int ret_fds[], size_t count);

/* Read and close FD, a handover from another process. Returns 0 with *RET, which the
 * caller owns (berth_handover_fini); -1: FD is not a handover, or is a large one. */
int berth_message_read_handover(int fd, struct berth_handover *ret);
