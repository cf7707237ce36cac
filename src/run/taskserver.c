/* SPDX-License-Identifier: Apache-2.0 */
/* The task server, and how a task finds it. */

#include "run/taskserver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/detach.h"
#include "base/hash.h"
#include "container/limits.h"
#include "container/processes.h"
#include "ipc/message.h"
#include "ipc/peer.h"
#include "ipc/rendezvous.h"
#include "ipc/report.h"
#include "request/components.h"
#include "request/ranks.h"

/* The descriptor with which the server begins: of the listener, or of its only client;
 * and the most clients. */
enum { FIRST = 3, CLIENTS_MAX = 4096 };

/* The kinds of messages (ipc/message.h). A client sends ASK with a struct question and
 * its standard error, if that is open. The server answers PLACE with a struct answer
 * and the descriptors of enum descriptor. */
enum { ASK = 'A', PLACE = 'P' };

/* The descriptors of PLACE, in their order: that of ipc/report.h, and, if there is a
 * rendezvous, those of ipc/rendezvous.h. */
enum descriptor { REPORT, MEMORY, TASKS, ENDED, DESCRIPTORS };

/* A round waits so long after the last rank that came; a client that has connected may
 * take so long to ask; a task looks so long for the server. And how often processes are
 * looked for where the kernel has no pidfd. */
enum { QUIET_MS = 500, ASK_MS = 1000, PATIENCE_MS = 10000, LOOK_AGAIN_MS = 500 };

struct question {
    uint64_t key;
    unsigned int rank;
};

struct answer {
    unsigned int number, tasks, others, hosts; /* as in struct berth_order_container */
    struct berth_err why; /* there is no rendezvous; "": there is one */
};

struct round {
    struct round *next;
    struct berth_rendezvous rendezvous; /* page NULL: */
    struct berth_err why;               /* it could not be made; "": not yet */
    unsigned int clients, ranks;        /* that have not ended; ranks that have come, */
    int64_t heard;                      /* the last of them at this time */
    unsigned int used;                  /* of the places: */
    uint64_t keys[BERTH_CONTAINERS_MAX];
    int reports[BERTH_CONTAINERS_MAX]; /* ipc/report.h */
};

struct client {
    int socket; /* -1: it has its answer */
    int output; /* its standard error; -1: closed */
    pid_t pid;
    unsigned int rank, place;
    struct round *round;
};

static struct {
    const struct berth_taskserver_client *first; /* the task that has started it */
    bool has_reported;                           /* that a container died */
    struct round *rounds;
    struct client clients[CLIENTS_MAX];
    struct pollfd ends[1 + CLIENTS_MAX]; /* the listener, and the clients */
    unsigned int count;                  /* of the clients */
    unsigned int expected;               /* ranks of the step on this node */
} server;

static bool is_waiting(const struct round *round)
{
    return !round->rendezvous.page && !*round->why.text;
}

/* Can a task still get PLACE of ROUND? */
static bool is_open(const struct round *round, unsigned int place)
{
    if (is_waiting(round))
        return true;
    return round->rendezvous.page &&
           !berth_rendezvous_is_ended(&round->rendezvous, place);
}

/* Find the place of KEY, or make it in a round that waits, which may be a new one. */
static int find_place(uint64_t key, struct client *client)
{
    struct round *waiting = NULL;

    for (struct round *it = server.rounds; it; it = it->next) {
        for (unsigned int place = 0; place < it->used; place++)
            if (it->keys[place] == key && is_open(it, place)) {
                client->round = it;
                client->place = place;
                return 0;
            }
        if (is_waiting(it) && it->used < BERTH_CONTAINERS_MAX)
            waiting = it;
    }
    if (!waiting) {
        waiting = calloc(1, sizeof(*waiting));
        if (!waiting)
            return -1;
        waiting->next = server.rounds;
        server.rounds = waiting;
    }
    client->round = waiting;
    client->place = waiting->used++;
    waiting->keys[client->place] = key;
    waiting->reports[client->place] = berth_report_open();
    return 0;
}

/* Has no task of its round the rank of CLIENT? One rank may start several tasks. */
static bool is_new_rank(const struct client *client)
{
    for (unsigned int i = 0; i < server.count; i++) {
        const struct client *other = &server.clients[i];

        if (other->round == client->round && other->rank == client->rank)
            return false;
    }
    return true;
}

/* The task CLIENT has ended, maybe after its container. */
static void report_loss(const struct client *client)
{
    const struct berth_rendezvous *rendezvous = &client->round->rendezvous;

    if (client->output < 0 || server.has_reported || !rendezvous->page ||
        !berth_rendezvous_is_any_lost(rendezvous))
        return;
    berth_report_line(client->output, server.first->node, "%s", BERTH_RENDEZVOUS_DIED);
    server.has_reported = true;
}

static bool has_sent(int socket)
{
    return poll(&(struct pollfd){.fd = socket, .events = POLLIN}, 1, ASK_MS) > 0;
}

/* Read what CLIENT asks for. Returns 0, or -1: it asks for nothing. */
static int read_question(struct client *client, struct question *ret)
{
    struct berth_message_room room = {
        .bytes = ret, .size = sizeof(*ret), .fds = &client->output, .fd_count = 1};

    if (!has_sent(client->socket))
        return -1;
    if (berth_message_receive(client->socket, &room) != ASK)
        return -1;
    return room.count == sizeof(*ret) ? 0 : -1;
}

static void drop(const struct client *client)
{
    if (client->socket >= 0)
        close(client->socket);
    if (client->output >= 0)
        close(client->output);
}

/* Find the place of the task at SOCKET, which is one of this user on the host. Takes
 * SOCKET. */
static void admit(int socket)
{
    struct client client = {socket, -1, .pid = berth_job_peer(socket).pid};
    struct question question;
    struct pollfd end;

    if (client.pid <= 0 || server.count == CLIENTS_MAX ||
        read_question(&client, &question) < 0 ||
        find_place(question.key, &client) < 0) {
        drop(&client);
        return;
    }
    client.rank = question.rank;
    client.round->clients++;
    if (is_new_rank(&client)) {
        client.round->ranks++;
        client.round->heard = berth_clock();
    }

    end = (struct pollfd){.fd = berth_process_open(client.pid), .events = POLLIN};
    if (end.fd < 0 && errno != ESRCH && client.output >= 0) {
        close(client.output); /* the end of the task would be seen late */
        client.output = -1;
    }
    server.ends[server.count + 1] = end;
    server.clients[server.count++] = client;
}

/* A process has connected. One that is in an image gets no answer, and is not read. */
static void accept_client(void)
{
    int socket = berth_job_accept(FIRST);

    if (socket < 0)
        return;
    if (berth_peer_client(socket) == BERTH_PEER_OWN)
        admit(socket);
    else
        close(socket);
}

/* Make the rendezvous of a round that has waited. */
static void open_round(struct round *round)
{
    struct berth_rendezvous *rendezvous = &round->rendezvous;

    if (berth_rendezvous_make(rendezvous, round->used, &round->why) < 0)
        return;
    berth_rendezvous_configure(rendezvous, server.first->limit,
                               server.first->forbidden);
    if (server.first->is_step)
        sched_getaffinity(berth_process_stepd(), sizeof(rendezvous->node->cpus),
                          &rendezvous->node->cpus);
}

/* The tasks that have the place of CLIENT. */
static unsigned int count_tasks(const struct client *client)
{
    unsigned int count = 0;

    for (unsigned int i = 0; i < server.count; i++) {
        const struct client *other = &server.clients[i];

        if (other->round == client->round && other->place == client->place)
            count++;
    }
    return count;
}

static void answer(struct client *client)
{
    const struct round *round = client->round;
    const struct berth_rendezvous *rendezvous = &round->rendezvous;
    int fds[DESCRIPTORS];
    struct answer answer = {.number = client->place,
                            .tasks = count_tasks(client),
                            .others = round->used - 1,
                            .why = round->why};
    struct berth_message message = {
        .kind = PLACE, .bytes = &answer, .count = sizeof(answer), .fds = fds};

    if (server.expected > round->ranks)
        answer.hosts = server.expected - round->ranks;
    if (round->reports[client->place] < 0) {
        berth_err_spent(&answer.why, EMFILE);
    } else {
        fds[REPORT] = round->reports[client->place];
        message.fd_count = REPORT + 1;
    }
    if (message.fd_count > 0 && rendezvous->page) {
        fds[MEMORY] = rendezvous->memory;
        fds[TASKS] = rendezvous->tasks;
        fds[ENDED] = rendezvous->ended;
        message.fd_count = DESCRIPTORS;
    }

    berth_message_send(client->socket, &message);
    close(client->socket);
    client->socket = -1;
}

/* Answer the tasks that have waited for long enough. Returns for how long to wait at
 * most, in milliseconds, before the next call; -1: for a task that comes or ends. */
static int answer_all(void)
{
    int most = server.count > 0 ? -1 : PATIENCE_MS;

    for (struct round *it = server.rounds; it; it = it->next) {
        int64_t left = it->heard + QUIET_MS - berth_clock();

        if (!is_waiting(it))
            continue;
        if (left <= 0 || it->ranks >= server.expected)
            open_round(it);
        else if (most < 0 || most > left)
            most = (int)left;
    }
    for (unsigned int i = 0; i < server.count; i++) {
        struct client *client = &server.clients[i];

        if (client->socket >= 0 && !is_waiting(client->round))
            answer(client);
        if (server.ends[i + 1].fd < 0 && (most < 0 || most > LOOK_AGAIN_MS))
            most = LOOK_AGAIN_MS;
    }
    return most;
}

/* The last task of ROUND has ended. */
static void end_round(struct round *round)
{
    struct round **place = &server.rounds;

    while (*place != round)
        place = &(*place)->next;
    *place = round->next;
    if (round->rendezvous.page) {
        berth_rendezvous_close(&round->rendezvous);
        berth_rendezvous_unmap(&round->rendezvous);
    }
    for (unsigned int i = 0; i < round->used; i++)
        if (round->reports[i] >= 0)
            close(round->reports[i]);
    free(round);
}

/* Has the process of CLIENT ended? END watches it, if the kernel can. */
static bool has_ended(const struct client *client, const struct pollfd *end)
{
    if (end->fd >= 0)
        return end->revents != 0;
    return kill(client->pid, 0) < 0;
}

/* Remove the tasks that have ended. */
static void dismiss(void)
{
    for (unsigned int i = server.count; i-- > 0;) {
        const struct client client = server.clients[i];
        const struct pollfd end = server.ends[i + 1];

        if (!has_ended(&client, &end))
            continue;
        if (end.fd >= 0)
            close(end.fd);
        server.count--;
        server.clients[i] = server.clients[server.count];
        server.ends[i + 1] = server.ends[server.count + 1];

        report_loss(&client);
        drop(&client);
        client.round->clients--;
        if (client.round->clients == 0)
            end_round(client.round);
    }
}

/* The listener is the first in the list: a task that comes after another one has ended
 * is seen after that end. The first task may take a while to come. */
static void serve_step(void)
{
    int64_t until = berth_clock() + PATIENCE_MS;

    /* here and not in the task: SO_PEERCRED names the process that calls listen(2) */
    if (listen(FIRST, SOMAXCONN) < 0)
        return;
    server.ends[0] = (struct pollfd){.fd = FIRST, .events = POLLIN};
    do {
        int most = answer_all();
        bool has_come =
            poll(server.ends, server.count + 1, most) > 0 && server.ends[0].revents;

        dismiss();
        if (has_come)
            accept_client();
        if (server.count > 0)
            until = 0;
    } while (server.count > 0 || berth_clock() < until);
}

/* Outside of a step: the socket is that of the only task. */
static void serve_alone(void)
{
    server.ends[0] = (struct pollfd){.fd = -1};
    admit(FIRST);
    while (server.count > 0) {
        poll(server.ends, server.count + 1, answer_all());
        dismiss();
    }
}

static void run(void *data)
{
    if (berth_detach(data, 1, NULL) < 0)
        return;
    berth_limits_raise();
    if (server.first->is_step)
        serve_step();
    else
        serve_alone();
}

/* Start the server of FIRST, to which FD is left: a socket with a name, or of a pair.
 * Returns 0, or -1 with a sentence in ERR. */
static int start_server(const struct berth_taskserver_client *first, int fd,
                        struct berth_err *err)
{
    server.first = first;
    server.expected =
        first->is_step ? berth_ranks_measure(getenv("SLURM_GTIDS")).count : 1;
    return berth_detach_run(run, NULL, &fd, err);
}

/* The address of the server of a step. */
struct address {
    struct sockaddr_un name;
    socklen_t length;
};

/* Take ADDRESS, and start the server there. Returns 0, also if another task has taken
 * it; -1 with a sentence in ERR. */
static int start_at(const struct berth_taskserver_client *task,
                    const struct address *address, struct berth_err *err)
{
    BERTH_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return berth_err_spent(err, errno);
    if (bind(fd, (const struct sockaddr *)&address->name, address->length) < 0)
        return errno == EADDRINUSE ? 0 : berth_err_spent(err, errno);
    return start_server(task, fd, err);
}

/* Receive the answer. Returns 0; 1: there is none; -1 with a sentence in ERR. */
static int receive(int socket, struct berth_order *order, struct berth_err *err)
{
    struct pollfd end = {.fd = socket, .events = POLLIN};
    int fds[DESCRIPTORS];
    struct answer answer;
    struct berth_message_room room = {
        .bytes = &answer, .size = sizeof(answer), .fds = fds, .fd_count = DESCRIPTORS};
    int ready;

    do {
        ready = poll(&end, 1, -1);
    } while (ready < 0 && errno == EINTR);
    if (berth_message_receive(socket, &room) != PLACE || room.count != sizeof(answer))
        return 1;
    for (int i = 0; i < DESCRIPTORS; i++)
        if (fds[i] >= 0)
            fcntl(fds[i], F_SETFD, 0); /* they stay open on exec */
    order->report = fds[REPORT];
    order->memory = fds[MEMORY];
    order->tasks = fds[TASKS];
    order->ended = fds[ENDED];
    order->container = (struct berth_order_container){.number = answer.number,
                                                      .tasks = answer.tasks,
                                                      .others = answer.others,
                                                      .hosts = answer.hosts};
    *err = answer.why;
    return *err->text ? -1 : 0;
}

/* Ask the server at SOCKET. Returns as receive(). */
static int ask(const struct berth_taskserver_client *task, int socket,
               struct berth_order *order, struct berth_err *err)
{
    static const int output = STDERR_FILENO;
    const struct question question = {.key = task->key, .rank = task->rank};
    struct berth_message message = {
        .kind = ASK, .bytes = &question, .count = sizeof(question), .fds = &output};

    if (fcntl(output, F_GETFD) >= 0)
        message.fd_count = 1;
    if (berth_message_send_waiting(socket, &message) < 0)
        return 1;
    return receive(socket, order, err);
}

/* Somebody else than a task server of this user has ADDRESS. Always returns -1. */
static int refuse_server(struct ucred peer, const struct address *address,
                         struct berth_err *err)
{
    const char *name = address->name.sun_path + 1;

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
static int connect_server(const struct address *address, int *ret_socket,
                          struct berth_err *err)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *ret_socket = fd;
    if (fd < 0 || berth_peer_name(fd) < 0)
        return berth_err_spent(err, errno);
    if (connect(fd, (const struct sockaddr *)&address->name, address->length) < 0)
        return 1;
    fcntl(fd, F_SETFL, 0); /* it may take a while until all have come */
    return 0;
}

/* Ask the server at ADDRESS, or start it if nobody listens there. Returns 0; 1: ask
 * again; -1 with a sentence in ERR. */
static int ask_at(const struct berth_taskserver_client *task,
                  const struct address *address, struct berth_order *order,
                  struct berth_err *err)
{
    BERTH_CLOSE int fd = -1;
    int result = connect_server(address, &fd, err);

    if (result < 0)
        return -1;
    if (result > 0) {
        bool is_free = errno == ECONNREFUSED;

        return is_free && start_at(task, address, err) < 0 ? -1 : 1;
    }
    switch (berth_peer_server(fd)) {
    case BERTH_PEER_OTHER:
        return refuse_server(berth_job_peer(fd), address, err);
    case BERTH_PEER_GONE:
        return 1; /* it has ended just now, and the name is free */
    default:
        return ask(task, fd, order, err);
    }
}

/* @berth/UID/JOB.STEP/HASH: of slurmstepd, which each component of each cluster has, of
 * the namespaces, and of the release. */
static struct address make_address(void)
{
    static const char *const spaces[] = {"/proc/self/ns/user", "/proc/self/ns/pid",
                                         "/proc/self/ns/mnt"};
    const pid_t stepd = berth_process_stepd();
    uint64_t hash = berth_hash(BERTH_HASH_START, &stepd, sizeof(stepd));
    struct address address = {.name = {.sun_family = AF_UNIX}};
    struct stat status = {0};
    int length;

    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        stat(spaces[i], &status);
        hash = berth_hash(hash, &status.st_ino, sizeof(status.st_ino));
    }
    hash = berth_hash(hash, BERTH_VERSION, sizeof(BERTH_VERSION));
    length = snprintf(address.name.sun_path + 1, sizeof(address.name.sun_path) - 1,
                      "berth/%u/%.20s.%.20s/%jx", geteuid(), getenv("SLURM_JOB_ID"),
                      getenv("SLURM_STEP_ID"), (uintmax_t)hash);
    address.length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    return address;
}

static int join_step(const struct berth_taskserver_client *task,
                     struct berth_order *order, struct berth_err *err)
{
    enum { PAUSE_MS = 1 };
    const struct address address = make_address();
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
                         address.name.sun_path + 1);
}

/* Outside of a step. */
static int join_alone(const struct berth_taskserver_client *task,
                      struct berth_order *order, struct berth_err *err)
{
    int ends[2], result;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return berth_err_spent(err, errno);
    result = start_server(task, ends[1], err);
    close(ends[1]);
    if (result == 0)
        result = ask(task, ends[0], order, err);
    close(ends[0]);
    return result > 0 ? berth_err_set(err, BERTH_RENDEZVOUS_STARTER_KILLED) : result;
}

int berth_taskserver_join(const struct berth_taskserver_client *task,
                          struct berth_order *order, struct berth_err *err)
{
    return task->is_step ? join_step(task, order, err) : join_alone(task, order, err);
}
