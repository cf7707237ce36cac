/* SPDX-License-Identifier: Apache-2.0 */
/* The task server: gives tasks their place in a rendezvous, and watches them. */

#include "run/taskserver.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/detach.h"
#include "container/limits.h"
#include "container/processes.h"
#include "ipc/loop.h"
#include "ipc/message.h"
#include "ipc/peer.h"
#include "ipc/rendezvous.h"
#include "ipc/report.h"
#include "request/components.h"
#include "request/ranks.h"

/* The descriptor with which the server begins: of the listener, or of its only client;
 * and the most clients. */
enum { FIRST = 3, CLIENTS_MAX = 4096 };

/* A round waits so long after the last rank that came; a client that has connected may
 * take so long to ask; the first client may take so long to come. And how often
 * processes are looked for where the kernel has no pidfd. */
enum { QUIET_MS = 500, ASK_MS = 1000, PATIENCE_MS = 10000, LOOK_AGAIN_MS = 500 };

/* A task. */
struct client {
    struct client *next; /* of its round */
    struct round *round;
    unsigned int rank, place;
    pid_t pid;
    int socket; /* -1: it has its answer */
    int output; /* its standard error; -1: closed */
    int end;    /* a descriptor that can be read when it has ended; -1: none */
};

/* Tasks that came together. It has a rendezvous (page not NULL), or the reason why none
 * could be made; neither: it waits for more tasks. */
struct round {
    struct round *next;
    struct berth_rendezvous rendezvous;
    struct berth_err why;
    struct client *clients; /* that have not ended */
    unsigned int ranks;     /* that have come, also those that have ended */
    int64_t heard;          /* when the last of them came */
    unsigned int used;      /* of the places: */
    uint64_t keys[BERTH_CONTAINERS_MAX];
    int reports[BERTH_CONTAINERS_MAX]; /* ipc/report.h */
};

static struct {
    const struct berth_taskclient *first; /* the task that has started it */
    bool has_reported;                    /* that a container died */
    struct round *rounds;
    unsigned int count;    /* of the clients of all rounds */
    unsigned int expected; /* ranks of the step on this node */
    struct berth_loop loop;
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

/* Find the place of KEY in ROUND. Returns whether CLIENT got it. */
static bool find_in_round(struct round *round, uint64_t key, struct client *client)
{
    for (unsigned int place = 0; place < round->used; place++) {
        if (round->keys[place] != key || !is_open(round, place))
            continue;
        client->round = round;
        client->place = place;
        return true;
    }
    return false;
}

/* Returns a round that waits and has a place left, which may be a new one; NULL: out of
 * memory. */
static struct round *find_waiting(void)
{
    struct round *round;

    for (round = server.rounds; round; round = round->next)
        if (is_waiting(round) && round->used < BERTH_CONTAINERS_MAX)
            return round;
    round = calloc(1, sizeof(*round));
    if (!round)
        return NULL;
    round->next = server.rounds;
    server.rounds = round;
    return round;
}

/* Find the place of KEY for CLIENT, or make it in a round that waits. Returns 0, or -1
 * out of memory. */
static int find_place(uint64_t key, struct client *client)
{
    struct round *waiting;

    for (struct round *it = server.rounds; it; it = it->next)
        if (find_in_round(it, key, client))
            return 0;
    waiting = find_waiting();
    if (!waiting)
        return -1;
    client->round = waiting;
    client->place = waiting->used;
    waiting->keys[client->place] = key;
    waiting->reports[client->place] = berth_report_open();
    waiting->used++;
    return 0;
}

/* Has no task of ROUND this RANK? One rank may start several tasks. */
static bool is_new_rank(const struct round *round, unsigned int rank)
{
    for (const struct client *it = round->clients; it; it = it->next)
        if (it->rank == rank)
            return false;
    return true;
}

/* The task CLIENT has ended, maybe after its container. */
static void report_loss(const struct client *client)
{
    const struct berth_rendezvous *rendezvous = &client->round->rendezvous;

    if (client->output < 0 || server.has_reported)
        return;
    if (!rendezvous->page || !berth_rendezvous_is_any_lost(rendezvous))
        return;
    berth_report_line(client->output, server.first->node, "%s", BERTH_RENDEZVOUS_DIED);
    server.has_reported = true;
}

/* Close what CLIENT has, and free it. */
static void drop(struct client *client)
{
    const int fds[] = {client->socket, client->output, client->end};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(client);
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

/* DATA, a struct client, has ended: its round ends with its last task. */
static void end_client(void *data)
{
    struct client *client = data;
    struct round *round = client->round;
    struct client **place = &round->clients;

    while (*place != client)
        place = &(*place)->next;
    *place = client->next;
    server.count--;
    if (client->end >= 0)
        berth_loop_remove(&server.loop, client->end);
    report_loss(client);
    drop(client);
    if (!round->clients)
        end_round(round);
}

static bool has_sent(int socket)
{
    return poll(&(struct pollfd){.fd = socket, .events = POLLIN}, 1, ASK_MS) > 0;
}

/* Read what CLIENT asks for. Returns 0, or -1: it asks for nothing. */
static int read_question(struct client *client, struct berth_taskserver_question *ret)
{
    struct berth_message_room room = {
        .bytes = ret, .size = sizeof(*ret), .fds = &client->output, .fd_count = 1};

    if (!has_sent(client->socket))
        return -1;
    if (berth_message_receive(client->socket, &room) != BERTH_TASKSERVER_ASK)
        return -1;
    if (room.count != sizeof(*ret))
        return -1;
    return 0;
}

/* Watch the process of CLIENT. Returns 0, or -1 out of memory. */
static int watch(struct client *client)
{
    client->end = berth_process_open(client->pid);
    if (client->end >= 0)
        return berth_loop_add(&server.loop, client->end, end_client, client);
    if (errno != ESRCH && client->output >= 0) {
        close(client->output); /* the end of the task would be seen late */
        client->output = -1;
    }
    return 0;
}

/* Add CLIENT to its round. */
static void add(struct client *client)
{
    struct round *round = client->round;

    if (is_new_rank(round, client->rank)) {
        round->ranks++;
        round->heard = berth_clock();
    }
    client->next = round->clients;
    round->clients = client;
    server.count++;
}

/* Find the place of the task at SOCKET, which is one of this user on the host. Takes
 * SOCKET. */
static void admit(int socket)
{
    struct berth_taskserver_question question;
    struct client *client = calloc(1, sizeof(*client));

    if (!client) {
        close(socket);
        return;
    }
    *client = (struct client){
        .socket = socket, .output = -1, .end = -1, .pid = berth_peer_of(socket).pid};
    if (client->pid <= 0 || server.count == CLIENTS_MAX ||
        read_question(client, &question) < 0) {
        drop(client);
        return;
    }
    client->rank = question.rank;
    if (watch(client) < 0 || find_place(question.key, client) < 0) {
        berth_loop_remove(&server.loop, client->end);
        drop(client);
        return;
    }
    add(client);
}

/* A process has connected. One that is in an image gets no answer, and is not read. */
static void accept_client(void *data)
{
    int socket = berth_peer_accept(FIRST);

    (void)data;
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

/* The tasks of ROUND that have PLACE. */
static unsigned int count_tasks(const struct round *round, unsigned int place)
{
    unsigned int count = 0;

    for (const struct client *it = round->clients; it; it = it->next)
        if (it->place == place)
            count++;
    return count;
}

static void answer(struct client *client)
{
    const struct round *round = client->round;
    const struct berth_rendezvous *rendezvous = &round->rendezvous;
    struct berth_taskserver_answer answer = {.number = client->place,
                                             .tasks = count_tasks(round, client->place),
                                             .others = round->used - 1,
                                             .why = round->why};
    int fds[BERTH_TASKSERVER_FDS];
    struct berth_message message = {.kind = BERTH_TASKSERVER_PLACE,
                                    .bytes = &answer,
                                    .count = sizeof(answer),
                                    .fds = fds};

    if (server.expected > round->ranks)
        answer.hosts = server.expected - round->ranks;
    if (round->reports[client->place] < 0) {
        berth_err_spent(&answer.why, EMFILE);
    } else {
        fds[BERTH_TASKSERVER_REPORT] = round->reports[client->place];
        message.fd_count = BERTH_TASKSERVER_REPORT + 1;
    }
    if (message.fd_count > 0 && rendezvous->page) {
        fds[BERTH_TASKSERVER_MEMORY] = rendezvous->memory;
        fds[BERTH_TASKSERVER_TASKS] = rendezvous->tasks;
        fds[BERTH_TASKSERVER_ENDED] = rendezvous->ended;
        message.fd_count = BERTH_TASKSERVER_FDS;
    }

    berth_message_send(client->socket, &message);
    close(client->socket);
    client->socket = -1;
}

/* Make the rendezvous of ROUND if it has waited for long enough. Returns for how long
 * it waits, in milliseconds; 0: it does not. */
static int64_t advance(struct round *round)
{
    int64_t left = round->heard + QUIET_MS - berth_clock();

    if (!is_waiting(round))
        return 0;
    if (left > 0 && round->ranks < server.expected)
        return left;
    open_round(round);
    return 0;
}

/* Answer the tasks of ROUND that have no answer yet, if it waits no longer. */
static void answer_round(struct round *round)
{
    if (is_waiting(round))
        return;
    for (struct client *it = round->clients; it; it = it->next)
        if (it->socket >= 0)
            answer(it);
}

/* Does ROUND have a task of which the kernel does not tell the end? */
static bool has_unwatched(const struct round *round)
{
    for (const struct client *it = round->clients; it; it = it->next)
        if (it->end < 0)
            return true;
    return false;
}

/* The shorter of two waits, of which -1 has no limit. */
static int shorter(int one, int64_t other)
{
    if (one < 0 || one > other)
        return (int)other;
    return one;
}

/* Answer the tasks that have waited for long enough. Returns for how long to wait at
 * most, in milliseconds, before the next call; -1: for a task that comes or ends. */
static int answer_all(void)
{
    int most = -1;

    if (server.count == 0)
        most = PATIENCE_MS;
    for (struct round *it = server.rounds; it; it = it->next) {
        int64_t left = advance(it);

        if (left > 0)
            most = shorter(most, left);
        answer_round(it);
        if (has_unwatched(it))
            most = shorter(most, LOOK_AGAIN_MS);
    }
    return most;
}

/* Returns a task of ROUND that has ended without notice, or NULL. */
static struct client *find_ended(const struct round *round)
{
    for (struct client *it = round->clients; it; it = it->next)
        if (it->end < 0 && kill(it->pid, 0) < 0)
            return it;
    return NULL;
}

/* End the tasks that have ended without notice. */
static void dismiss_unwatched(void)
{
    struct round *next;

    for (struct round *it = server.rounds; it; it = next) {
        struct client *ended = find_ended(it);

        next = it->next;
        if (!ended)
            continue;
        end_client(ended);
        next = server.rounds; /* that round may be gone, and may have more of them */
    }
}

static void serve_once(void)
{
    int most = answer_all();

    berth_loop_wait(&server.loop, most);
    dismiss_unwatched();
}

/* The first task may take a while to come. */
static void serve_step(void)
{
    int64_t until = berth_clock() + PATIENCE_MS;

    /* here and not in the task: SO_PEERCRED names the process that calls listen(2) */
    if (listen(FIRST, SOMAXCONN) < 0)
        return;
    /* the first in the loop: a task that comes after another one has ended is seen
     * after that end */
    if (berth_loop_add(&server.loop, FIRST, accept_client, NULL) < 0)
        return;
    while (server.count == 0 && berth_clock() < until)
        serve_once();
    while (server.count > 0)
        serve_once();
}

/* Outside of a step: the socket is that of the only task. */
static void serve_alone(void)
{
    admit(FIRST);
    while (server.count > 0)
        serve_once();
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

int berth_taskserver_start(const struct berth_taskclient *first, int fd,
                           struct berth_err *err)
{
    server.first = first;
    server.expected = 1;
    if (first->is_step)
        server.expected = berth_ranks_measure(getenv("SLURM_GTIDS")).count;
    return berth_detach_run(run, NULL, &fd, err);
}
