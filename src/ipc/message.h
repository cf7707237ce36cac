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
 * run/taskserver.h, and below. Borrows everything. */
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

/* The messages on the socket of the job's server; for most kinds the descriptor is that
 * of a handover (ipc/handover.h), which has words and an environment.
 *
 * A step sends:
 *     ASK     words: those of enum berth_job_word; environment: of the step. Further
 *             descriptors: those of enum berth_job_fd
 * The server answers:
 *     JOIN    words: the release of berth, process id of the holder, inode of its mount
 *             namespace, and the number of the changes that the runtime has made;
 *             environment: these (plan/envdiff.h), and then that of the holder. A
 *             second descriptor is at end of file when the container has ended
 *     ALONE   the job has no container for the step
 *     IMAGE   to a step that leaves out the image of a container with a name; words:
 * the image and its URI ("": it has none) REFUSE  word: the sentence for the user, why
 * the step cannot have the container with this name
 *
 * and closes the socket; but after JOIN for a container with a name the socket stays
 * open, and its end says that the step has ended. */
enum berth_job_kind {
    BERTH_JOB_ASK = 'A',
    BERTH_JOB_JOIN = 'J',
    BERTH_JOB_ALONE = 'N',
    BERTH_JOB_IMAGE = 'I',
    BERTH_JOB_REFUSE = 'R'
};

/* The descriptors of a question, in their order: the handover, and the namespaces of
 * the step, which prove that it is not a program in an image. The kernel lets no such
 * program open those of the host (ptrace(2), "PTRACE_MODE_READ_FSCREDS"). A process id
 * would prove nothing: it may be another process's by the time it is looked up. */
enum berth_job_fd {
    BERTH_JOB_HANDOVER,
    BERTH_JOB_USER,
    BERTH_JOB_MOUNTS,
    BERTH_JOB_FDS
};

/* The number of descriptors of JOIN for a step. */
enum { BERTH_JOB_JOIN_FDS = 2 };

/* The words of a question, in their order. */
enum berth_job_word {
    BERTH_JOB_KEY,       /* job/key.h */
    BERTH_JOB_ORDER,     /* plan/order.h, for the container alone */
    BERTH_JOB_DIRECTORY, /* the working directory; "": gone */
    BERTH_JOB_IDENTITY,  /* of that, as in base/fileid.h */
    BERTH_JOB_OWN,       /* "own": only a container of this directory */
    BERTH_JOB_WORDS
};

/* SLURM_STEP_ID in the environment of the server of a job, as sacct(1) has it. */
#define BERTH_JOB_STEP "extern"

/* Make the address of the server of JOB, a job of user UID, on the node NODE, in the
 * abstract namespace (unix(7)). NODE is Slurm's name of the node (SLURMD_NODENAME),
 * because a host may have several nodes. Anybody can bind such an address, so check the
 * peer (berth_job_peer()). Returns 0, or -1 if NODE is empty or too long. */
int berth_job_address(uid_t uid, uint32_t job, const char *node,
                      struct sockaddr_un *ret, socklen_t *ret_length);

/* The process that opened the other side of SOCKET, and its user (SO_PEERCRED,
 * unix(7)); if the other side was a listener: who called listen(). The number may be
 * another process's by now. -1 and (uid_t)-1: nobody can tell. */
struct ucred berth_job_peer(int socket);

/* Accept a connection of a process of this user. Returns a socket, closed on exec; -1:
 * there is none. A connection that cannot be accepted stays in the queue, so this waits
 * a moment, or the loop around it would spin. */
int berth_job_accept(int listening);

/* Send a message of KIND with the descriptor FD (-1: none). Returns 0, or -1 with
 * errno. */
int berth_job_send(int socket, int kind, int fd);

/* The same with COUNT descriptors, at most BERTH_MESSAGE_FDS. */
int berth_job_send_all(int socket, int kind, const int fds[], size_t count);

/* Send a message of KIND with a handover of WORDS. Returns 0, or -1. */
int berth_job_send_words(int socket, int kind, const struct berth_strvec *words);

/* Receive the next message; *RET_FD is its descriptor, which the caller owns, or -1.
 * Returns its kind; 0: the other side has ended; -1 with errno (EAGAIN: there is no
 * message yet). */
int berth_job_receive(int socket, int *ret_fd);

/* The same with COUNT descriptors, at most BERTH_MESSAGE_FDS. */
int berth_job_receive_all(int socket, int ret_fds[], size_t count);

/* Read and close FD, a handover from another process. Returns 0 with *RET, which the
 * caller owns (berth_handover_fini); -1: FD is not a handover, or is a large one. */
int berth_job_read(int fd, struct berth_handover *ret);
