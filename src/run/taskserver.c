/* SPDX-License-Identifier: Apache-2.0 */
/* The process at which the tasks of a step meet, and how a task finds it. */

#include "run/taskserver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/detach.h"
#include "base/hash.h"
#include "ipc/message.h"
#include "request/components.h"
#include "request/ranks.h"
#include "container/limits.h"
#include "container/processes.h"
#include "ipc/rendezvous.h"
#include "ipc/report.h"

/* The descriptor of the process, and the most tasks. */
enum { LISTENER = 3, TASKS_MAX = 4096 };

/* The kinds of messages (ipc/message.h): of a task, with its standard error, after a
 * struct question; and to it, with the descriptors of ipc/report.h and of the
 * rendezvous, before a struct answer. */
enum { OUTPUT = 'O', PLACE = 'P', SHARED = 4 };

/* A round waits so long after the last rank that came; a task that has connected may
 * take so long to ask; a task looks so long for the process. And how often processes
 * are looked for where the kernel has no pidfd. */
enum { QUIET_MS = 500, ASK_MS = 1000, PATIENCE_MS = 10000, LOOK_AGAIN_MS = 500 };

struct question {
    uint64_t key;
    unsigned int rank;
};

struct answer {
    struct berth_order_container container;
    struct berth_err why; /* there is no rendezvous; "": there is one */
};

struct round {
    struct round *next;
    struct berth_rendezvous rendezvous; /* page NULL: */
    struct berth_err why;               /* it could not be made; "": not yet */
    unsigned int guests, ranks; /* tasks that have not ended; ranks that have come, */
    int64_t heard;              /* the last of them at this time */
    unsigned int used;          /* of the places: */
    uint64_t keys[BERTH_CONTAINERS_MAX];
    int reports[BERTH_CONTAINERS_MAX]; /* ipc/report.h */
};

struct guest {
    int socket; /* -1: it has its answer */
    int output; /* its standard error; -1: closed */
    pid_t pid;
    unsigned int rank, place;
    struct round *round;
};

static struct {
    const struct berth_meeting *meeting; /* of the task that has started the process */
    bool has_reported;                   /* that a container died */
    struct round *rounds;
    struct guest guests[TASKS_MAX];
    struct pollfd ends[1 + TASKS_MAX]; /* the listener, and the guests */
    unsigned int count;                /* of the guests */
    unsigned int expected;             /* ranks of the step on this node */
} host;

static bool is_waiting(const struct round *round)
{
    return !round->rendezvous.page && !*round->why.text;
}

/* Find the place of KEY, or make it in a round that waits, which may be a new one. */
static int find_place(uint64_t key, struct guest *guest)
{
    struct round *waiting = NULL;

    for (struct round *it = host.rounds; it; it = it->next) {
        guest->round = it;
        for (guest->place = 0; guest->place < it->used; guest->place++)
            if (it->keys[guest->place] == key &&
                (is_waiting(it) ||
                 (it->rendezvous.page &&
                  !berth_rendezvous_is_ended(&it->rendezvous, guest->place))))
                return 0;
        if (is_waiting(it) && it->used < BERTH_CONTAINERS_MAX)
            waiting = it;
    }
    if (!waiting) {
        waiting = calloc(1, sizeof(*waiting));
        if (!waiting)
            return -1;
        waiting->next = host.rounds;
        host.rounds = waiting;
    }
    guest->round = waiting;
    guest->place = waiting->used++;
    waiting->keys[guest->place] = key;
    waiting->reports[guest->place] = berth_report_open();
    return 0;
}

/* Has no task of its round the rank of GUEST? One rank may start several tasks. */
static bool is_new_rank(const struct guest *guest)
{
    for (unsigned int i = 0; i < host.count; i++)
        if (host.guests[i].round == guest->round && host.guests[i].rank == guest->rank)
            return false;
    return true;
}

/* The task GUEST has ended, maybe after its container. */
static void report_loss(const struct guest *guest)
{
    const struct berth_rendezvous *rendezvous = &guest->round->rendezvous;

    if (guest->output < 0 || host.has_reported || !rendezvous->page ||
        !berth_rendezvous_is_any_lost(rendezvous))
        return;
    berth_report_line(guest->output, host.meeting->node, "%s", BERTH_RENDEZVOUS_DIED);
    host.has_reported = true;
}

static bool has_sent(int socket)
{
    return poll(&(struct pollfd){.fd = socket, .events = POLLIN}, 1, ASK_MS) > 0;
}

/* A task has connected: find its process and its place. Takes SOCKET; -1: none has. */
static void admit(int socket)
{
    struct guest guest = {socket, -1, .pid = berth_job_peer(socket).pid};
    struct question question;

    if (socket < 0)
        return;
    if (guest.pid <= 0 || host.count == TASKS_MAX || !has_sent(socket) ||
        recv(socket, &question, sizeof(question), MSG_DONTWAIT) != sizeof(question) ||
        !has_sent(socket) || berth_job_receive(socket, &guest.output) != OUTPUT ||
        find_place(question.key, &guest) < 0) {
        close(socket);
        close(guest.output);
        return;
    }
    guest.rank = question.rank;
    guest.round->guests++;
    if (is_new_rank(&guest)) {
        guest.round->ranks++;
        guest.round->heard = berth_clock();
    }
    host.ends[host.count + 1] =
        (struct pollfd){.fd = berth_process_open(guest.pid), .events = POLLIN};
    if (host.ends[host.count + 1].fd < 0 && errno != ESRCH && guest.output >= 0) {
        close(guest.output); /* the end of the task would be seen late */
        guest.output = -1;
    }
    host.guests[host.count++] = guest;
}

/* Make the rendezvous of a round that has waited. */
static void open_round(struct round *round)
{
    struct berth_rendezvous *rendezvous = &round->rendezvous;

    if (berth_rendezvous_make(rendezvous, round->used, &round->why) < 0)
        return;
    berth_rendezvous_configure(rendezvous, host.meeting->limit,
                               host.meeting->forbidden);
    if (host.meeting->is_step)
        sched_getaffinity(berth_process_stepd(), sizeof(rendezvous->node->cpus),
                          &rendezvous->node->cpus);
}

static void answer(struct guest *guest)
{
    const struct round *round = guest->round;
    const struct berth_rendezvous *rendezvous = &round->rendezvous;
    const int shared[SHARED] = {round->reports[guest->place], rendezvous->memory,
                                rendezvous->tasks, rendezvous->ended};
    struct answer answer = {{.number = guest->place, .others = round->used - 1},
                            round->why};

    if (host.expected > round->ranks)
        answer.container.hosts = host.expected - round->ranks;
    for (unsigned int i = 0; i < host.count; i++)
        answer.container.tasks +=
            host.guests[i].round == round && host.guests[i].place == guest->place;
    if (berth_job_send_all(guest->socket, PLACE, shared,
                           rendezvous->page ? SHARED : *shared >= 0) == 0)
        send(guest->socket, &answer, sizeof(answer), MSG_NOSIGNAL);
    close(guest->socket);
    guest->socket = -1;
}

/* Answer the tasks that have waited for long enough. Returns for how long to wait at
 * most, in milliseconds, before the next call; -1: for a task that comes or ends. */
static int answer_all(void)
{
    int most = host.count > 0 ? -1 : PATIENCE_MS;

    for (struct round *it = host.rounds; it; it = it->next) {
        int64_t left = it->heard + QUIET_MS - berth_clock();

        if (is_waiting(it) && (left <= 0 || it->ranks >= host.expected))
            open_round(it);
        else if (is_waiting(it) && (most < 0 || most > left))
            most = (int)left;
    }
    for (unsigned int i = 0; i < host.count; i++) {
        if (host.guests[i].socket >= 0 && !is_waiting(host.guests[i].round))
            answer(&host.guests[i]);
        if (host.ends[i + 1].fd < 0 && (most < 0 || most > LOOK_AGAIN_MS))
            most = LOOK_AGAIN_MS;
    }
    return most;
}

/* The last task of ROUND has ended. */
static void end_round(struct round *round)
{
    struct round **place = &host.rounds;

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

/* Remove the tasks that have ended. */
static void dismiss(void)
{
    for (unsigned int i = host.count; i-- > 0;) {
        const struct guest guest = host.guests[i];
        const struct pollfd end = host.ends[i + 1];

        if (end.fd >= 0 ? !end.revents : kill(guest.pid, 0) == 0)
            continue;
        if (end.fd >= 0)
            close(end.fd);
        host.guests[i] = host.guests[--host.count];
        host.ends[i + 1] = host.ends[host.count + 1];
        report_loss(&guest);
        close(guest.socket); /* or -1 */
        close(guest.output);
        if (--guest.round->guests == 0)
            end_round(guest.round);
    }
}

/* A task takes three descriptors until it has its answer, and Slurm hands on the soft
 * limit of the user's shell. The kernel counts descriptors on their way, too. */
static void raise_limits(void)
{
    struct rlimit files;

    berth_limits_raise();
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){files.rlim_max, files.rlim_max});
}

/* The listener is the first in the list: a task that comes after another one has ended
 * is seen after that end. The first task may take a while to come. */
static void run(void *data)
{
    int64_t until = berth_clock() + PATIENCE_MS;
    bool has_come;

    if (berth_detach(data, 1, NULL) < 0)
        return;
    raise_limits();
    *host.ends = (struct pollfd){.fd = LISTENER, .events = POLLIN};
    do {
        int most = answer_all();

        has_come = poll(host.ends, host.count + 1, most) > 0 && host.ends->revents;
        dismiss();
        if (has_come) {
            admit(berth_job_accept(LISTENER));
            until = host.count > 0 ? 0 : until;
        }
    } while (host.count > 0 || berth_clock() < until);
}

/* Start the process of ADDRESS. Returns 0, also if another task has; -1 with a sentence
 * in ERR. */
static int found(const struct berth_meeting *meeting, const struct sockaddr_un *address,
                 socklen_t length, struct berth_err *err)
{
    BERTH_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd >= 0 && bind(fd, (const struct sockaddr *)address, length) < 0 &&
        errno == EADDRINUSE)
        return 0;
    if (fd < 0 || listen(fd, SOMAXCONN) < 0)
        return berth_err_spent(err, errno);
    host.meeting = meeting;
    host.expected =
        meeting->is_step ? berth_ranks_measure(getenv("SLURM_GTIDS")).count : 1;
    return berth_detach_run(run, NULL, &fd, err);
}

/* Receive the answer. Returns 0; 1: there is none; -1 with a sentence in ERR. */
static int receive(int socket, struct berth_order *order, struct berth_err *err)
{
    struct pollfd end = {.fd = socket, .events = POLLIN};
    int shared[SHARED];
    struct answer answer;

    while (poll(&end, 1, -1) < 0)
        ;
    if (berth_job_receive_all(socket, shared, SHARED) != PLACE ||
        recv(socket, &answer, sizeof(answer), 0) != sizeof(answer))
        return 1;
    for (int i = 0; i < SHARED; i++)
        fcntl(shared[i], F_SETFD, 0);
    order->report = shared[0];
    order->memory = shared[1];
    order->tasks = shared[2];
    order->ended = shared[3];
    order->container = answer.container;
    *err = answer.why;
    return *err->text ? -1 : 0;
}

/* Ask the process at ADDRESS, or start it if nobody listens there. Returns 0; 1: ask
 * again; -1 with a sentence in ERR. */
static int ask(const struct berth_meeting *meeting, const struct sockaddr_un *address,
               socklen_t length, struct berth_order *order, struct berth_err *err)
{
    const struct question question = {meeting->key, meeting->rank};
    BERTH_CLOSE int fd =
        socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    uid_t user;

    if (fd < 0)
        return berth_err_spent(err, errno);
    if (connect(fd, (const struct sockaddr *)address, length) < 0)
        return errno == ECONNREFUSED && found(meeting, address, length, err) < 0 ? -1
                                                                                 : 1;
    user = berth_job_peer(fd).uid;
    if (user != geteuid())
        return berth_err_set(err,
                             "user %u has taken the name '@%s', at which the tasks of "
                             "this step meet; tell the administrators",
                             user, address->sun_path + 1);
    fcntl(fd, F_SETFL, 0); /* it may take a while until all have come */
    if (send(fd, &question, sizeof(question), MSG_NOSIGNAL) < 0 ||
        berth_job_send(fd, OUTPUT, fcntl(2, F_GETFD) < 0 ? -1 : STDERR_FILENO) < 0)
        return 1;
    return receive(fd, order, err);
}

/* @berth/UID/JOB.STEP/HASH: of slurmstepd, which each component of each cluster has, or
 * of a process outside of a step; of the namespaces, and of the release. */
static socklen_t make_address(bool is_step, struct sockaddr_un *ret)
{
    static const char *const spaces[] = {"/proc/self/ns/user", "/proc/self/ns/pid",
                                         "/proc/self/ns/mnt"};
    const pid_t whose = is_step ? berth_process_stepd() : getpid();
    uint64_t hash = berth_hash(BERTH_HASH_START, &whose, sizeof(whose));
    struct stat status = {0};
    int length;

    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        stat(spaces[i], &status);
        hash = berth_hash(hash, &status.st_ino, sizeof(status.st_ino));
    }
    hash = berth_hash(hash, BERTH_VERSION, sizeof(BERTH_VERSION));
    length = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1,
                      "berth/%u/%.20s.%.20s/%jx", geteuid(),
                      is_step ? getenv("SLURM_JOB_ID") : "0",
                      is_step ? getenv("SLURM_STEP_ID") : "0", (uintmax_t)hash);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

int berth_meeting_join(const struct berth_meeting *meeting, struct berth_order *order,
                       struct berth_err *err)
{
    enum { PAUSE_MS = 1 };
    struct sockaddr_un address;
    socklen_t length = make_address(meeting->is_step, &address);
    int64_t until = berth_clock() + PATIENCE_MS;
    int result;

    while ((result = ask(meeting, &address, length, order, err)) > 0 &&
           berth_clock() < until)
        poll(NULL, 0, PAUSE_MS);
    if (result <= 0)
        return result;
    return berth_err_set(err,
                         "nobody answers at '@%s', where the tasks of this step meet; "
                         "submit the step again",
                         address.sun_path + 1);
}
