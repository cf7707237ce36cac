/* SPDX-License-Identifier: Apache-2.0 */
/* How a task of `berth run` finds the task server, or starts it, and asks it. */

#include "run/taskclient.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/hash.h"
#include "container/processes.h"
#include "ipc/address.h"
#include "ipc/message.h"
#include "ipc/peer.h"
#include "ipc/rendezvous.h"
#include "run/taskserver.h"

/* A task looks so long for the server. */
enum { PATIENCE_MS = 10000 };

/* Take ADDRESS, and start the server there. Returns 0, also if another task has taken
 * it; -1 with a sentence in ERR. */
static int start_at(const struct berth_taskclient *task,
                    const struct berth_address *address, struct berth_err *err)
{
    BERTH_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return berth_err_spent(err, errno);
    if (berth_address_bind(fd, address) == 0)
        return berth_taskserver_start(task, fd, err);
    if (errno == EADDRINUSE)
        return 0;
    return berth_err_spent(err, errno);
}

/* Receive the answer. Returns 0; 1: there is none; -1 with a sentence in ERR. */
static int receive(int socket, struct berth_order *order, struct berth_err *err)
{
    struct pollfd end = {.fd = socket, .events = POLLIN};
    int fds[BERTH_TASKSERVER_FDS];
    struct berth_taskserver_answer answer;
    struct berth_message_room room = {.bytes = &answer,
                                      .size = sizeof(answer),
                                      .fds = fds,
                                      .fd_count = BERTH_TASKSERVER_FDS};
    int ready;

    do {
        ready = poll(&end, 1, -1);
    } while (ready < 0 && errno == EINTR);
    if (berth_message_receive(socket, &room) != BERTH_TASKSERVER_PLACE ||
        room.count != sizeof(answer))
        return 1;
    for (int i = 0; i < BERTH_TASKSERVER_FDS; i++)
        if (fds[i] >= 0)
            fcntl(fds[i], F_SETFD, 0); /* they stay open on exec */
    order->report = fds[BERTH_TASKSERVER_REPORT];
    order->memory = fds[BERTH_TASKSERVER_MEMORY];
    order->tasks = fds[BERTH_TASKSERVER_TASKS];
    order->ended = fds[BERTH_TASKSERVER_ENDED];
    order->container = (struct berth_order_container){.number = answer.number,
                                                      .tasks = answer.tasks,
                                                      .others = answer.others,
                                                      .hosts = answer.hosts};
    *err = answer.why;
    if (*err->text)
        return -1;
    return 0;
}

/* Ask the server at SOCKET. Returns as receive(). */
static int ask(const struct berth_taskclient *task, int socket,
               struct berth_order *order, struct berth_err *err)
{
    static const int output = STDERR_FILENO;
    const struct berth_taskserver_question question = {.key = task->key,
                                                       .rank = task->rank};
    struct berth_message message = {.kind = BERTH_TASKSERVER_ASK,
                                    .bytes = &question,
                                    .count = sizeof(question),
                                    .fds = &output};

    if (fcntl(output, F_GETFD) >= 0)
        message.fd_count = 1;
    if (berth_message_send_waiting(socket, &message) < 0)
        return 1;
    return receive(socket, order, err);
}

/* Somebody else than a task server of this user has ADDRESS. Always returns -1. */
static int refuse_server(struct ucred peer, const struct berth_address *address,
                         struct berth_err *err)
{
    const char *name = berth_address_text(address);

    if (peer.uid != geteuid())
        return berth_err_set(err,
                             "user %u has taken the name '@%s', at which the tasks of "
                             "this step meet; tell the administrators",
                             peer.uid, name);
    return berth_err_set(err,
                         "process %d, of a program in a container, has taken the name "
                         "'@%s', at which the tasks of this step meet; end it, and do "
                         "not trust its image",
                         peer.pid, name);
}

/* Connect to the server at ADDRESS. Returns 0 with *RET_SOCKET, which is to be closed
 * unless it is -1; 1: nobody listens there; -1 with a sentence in ERR. */
static int connect_server(const struct berth_address *address, int *ret_socket,
                          struct berth_err *err)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *ret_socket = fd;
    if (fd < 0 || berth_peer_name(fd) < 0)
        return berth_err_spent(err, errno);
    if (berth_address_connect(fd, address) < 0)
        return 1;
    fcntl(fd, F_SETFL, 0); /* it may take a while until all have come */
    return 0;
}

/* Ask the server at ADDRESS, or start it if nobody listens there. Returns 0; 1: ask
 * again; -1 with a sentence in ERR. */
static int ask_at(const struct berth_taskclient *task,
                  const struct berth_address *address, struct berth_order *order,
                  struct berth_err *err)
{
    BERTH_CLOSE int fd = -1;
    int result = connect_server(address, &fd, err);

    if (result < 0)
        return -1;
    if (result > 0) {
        bool is_free = errno == ECONNREFUSED;

        if (is_free && start_at(task, address, err) < 0)
            return -1;
        return 1;
    }
    switch (berth_peer_server(fd)) {
    case BERTH_PEER_OTHER:
        return refuse_server(berth_peer_of(fd), address, err);
    case BERTH_PEER_GONE:
        return 1; /* it has ended just now, and the name is free */
    default:
        return ask(task, fd, order, err);
    }
}

/* @berth/UID/JOB.STEP/HASH: of slurmstepd, which each component of each cluster has, of
 * the namespaces, and of the release. */
static struct berth_address make_address(void)
{
    static const char *const spaces[] = {"/proc/self/ns/user", "/proc/self/ns/pid",
                                         "/proc/self/ns/mnt"};
    const pid_t stepd = berth_process_stepd();
    uint64_t hash = berth_hash(BERTH_HASH_START, &stepd, sizeof(stepd));
    struct berth_address address = {0};
    struct stat status = {0};

    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        stat(spaces[i], &status);
        hash = berth_hash(hash, &status.st_ino, sizeof(status.st_ino));
    }
    hash = berth_hash(hash, BERTH_VERSION, sizeof(BERTH_VERSION));
    berth_address_make(&address, "berth/%u/%.20s.%.20s/%jx", geteuid(),
                       getenv("SLURM_JOB_ID"), getenv("SLURM_STEP_ID"),
                       (uintmax_t)hash); /* it fits */
    return address;
}

static int join_step(const struct berth_taskclient *task, struct berth_order *order,
                     struct berth_err *err)
{
    enum { PAUSE_MS = 1 };
    const struct berth_address address = make_address();
    int64_t until = berth_clock() + PATIENCE_MS;
    int result = ask_at(task, &address, order, err);

    while (result > 0 && berth_clock() < until) {
        poll(NULL, 0, PAUSE_MS);
        result = ask_at(task, &address, order, err);
    }
    if (result <= 0)
        return result;
    return berth_err_set(err,
                         "nobody answers at '@%s', where the tasks of this step meet; "
                         "submit the step again",
                         berth_address_text(&address));
}

/* Outside of a step. */
static int join_alone(const struct berth_taskclient *task, struct berth_order *order,
                      struct berth_err *err)
{
    int ends[2], result;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return berth_err_spent(err, errno);
    result = berth_taskserver_start(task, ends[1], err);
    close(ends[1]);
    if (result == 0)
        result = ask(task, ends[0], order, err);
    close(ends[0]);
    if (result > 0)
        return berth_err_set(err, BERTH_RENDEZVOUS_STARTER_KILLED);
    return result;
}

int berth_taskclient_join(const struct berth_taskclient *task,
                          struct berth_order *order, struct berth_err *err)
{
    if (task->is_step)
        return join_step(task, order, err);
    return join_alone(task, order, err);
}
