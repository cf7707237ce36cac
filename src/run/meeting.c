/* SPDX-License-Identifier: Apache-2.0 */
/* The process at which the tasks of a step meet, and how a task finds it. */

#include "run/meeting.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/detach.h"
#include "base/grow.h"
#include "job/message.h"
#include "request/components.h"
#include "step/limits.h"
#include "step/processes.h"
#include "step/rendezvous.h"
#include "step/report.h"

/* The descriptors of the process. */
enum { LISTENER = 3, FIRST, STDERR, DESCRIPTORS = STDERR - LISTENER + 1 };

/* The kind of the message to a task (job/message.h), with the descriptors of the
 * rendezvous and that of step/report.h; its struct berth_order_container follows. */
enum { PLACE = 'P', SHARED = 4 };

/* The first task to come waits so long after the last one that came. */
enum { QUIET_MS = 500 };

/* How often processes are looked for where the kernel has no pidfd, and how long a task
 * may take to say what it wants, or to find the process. */
enum { LOOK_AGAIN_MS = 1000, PATIENCE_MS = 10000 };

struct guest {
    int socket; /* -1: it has its answer */
    pid_t pid;
    unsigned int place;
};

struct place {
    uint64_t key;
    int report;   /* step/report.h */
    bool is_open; /* a task has got it: others get it at once */
};

struct host {
    const struct berth_meeting *wanted; /* by the first task */
    int fds[DESCRIPTORS];               /* those that become LISTENER to STDERR */
    struct berth_rendezvous rendezvous;
    struct place places[BERTH_CONTAINERS_MAX];
    unsigned int used, most; /* of the places */
    struct guest *guests;
    struct pollfd *ends; /* of the guests, and last the listener */
    size_t count, room, ends_room;
    size_t expected; /* tasks of the step on this node */
    int64_t heard;   /* the time at which the last one came */
    bool is_reported;
};

bool berth_meeting_is_step(void)
{
    const char *step = getenv("SLURM_STEP_ID");

    return step && strtoul(step, NULL, 10) < 0xfffffff0 && getenv("SLURM_JOB_ID") &&
           getenv("SLURM_GTIDS");
}

/* The number of tasks of the step on this node: Slurm lists their ranks. */
static size_t count_expected(void)
{
    size_t count = 1;

    for (const char *at = getenv("SLURM_GTIDS"); at && *at; at++)
        count += *at == ',';
    return count;
}

/* Returns slurmstepd, the parent of the task; 0: not known. */
static pid_t find_stepd(void)
{
    const char *task = getenv("SLURM_TASK_PID");
    struct berth_process process;

    return task && berth_process_read(atoi(task), &process) ? process.parent : 0;
}

static struct berth_order_container count_tasks(const struct host *host,
                                                unsigned int place)
{
    struct berth_order_container container = {.number = place};
    bool is_seen[BERTH_CONTAINERS_MAX] = {false};

    for (size_t i = 0; i < host->count; i++) {
        unsigned int other = host->guests[i].place;

        if (other == place)
            container.tasks++;
        else if (!is_seen[other])
            container.others++;
        is_seen[other] = true;
    }
    if (host->expected > host->count)
        container.hosts = (unsigned int)(host->expected - host->count);
    return container;
}

/* Returns the number of the place of KEY, which may be a new one; `used` if there is
 * none left. */
static unsigned int find_place(struct host *host, uint64_t key)
{
    unsigned int at = 0;

    while (at < host->used && host->places[at].key != key)
        at++;
    if (at == host->used && at < host->most)
        host->places[host->used++] =
            (struct place){.key = key, .report = berth_report_open()};
    else if (at < host->used && count_tasks(host, at).tasks == 0) {
        close(host->places[at].report); /* its line was for tasks that have ended */
        host->places[at].report = berth_report_open();
    }
    return at;
}

/* A task has connected: find its process and its place. Takes SOCKET; -1: none has. */
static void admit(struct host *host, int socket)
{
    struct pollfd question = {.fd = socket, .events = POLLIN};
    struct guest guest = {.socket = socket, .pid = berth_job_peer(socket).pid};
    uint64_t key;

    if (socket < 0)
        return;
    if (poll(&question, 1, LOOK_AGAIN_MS) <= 0 ||
        recv(socket, &key, sizeof(key), MSG_DONTWAIT) != sizeof(key) ||
        berth_grow(&host->guests, host->count, &host->room, sizeof(guest)) < 0 ||
        berth_grow(&host->ends, host->count + 1, &host->ends_room,
                   sizeof(*host->ends)) < 0 ||
        (guest.place = find_place(host, key)) == host->used) {
        close(socket);
        return;
    }
    host->ends[host->count] =
        (struct pollfd){.fd = berth_process_open(guest.pid), .events = POLLIN};
    host->guests[host->count++] = guest;
    host->heard = berth_clock();
}

static void answer(struct host *host, struct guest *guest)
{
    const struct berth_rendezvous *rendezvous = &host->rendezvous;
    const struct berth_order_container container = count_tasks(host, guest->place);
    const int shared[SHARED] = {rendezvous->memory, rendezvous->tasks,
                                rendezvous->ended, host->places[guest->place].report};

    if (berth_job_send_all(guest->socket, PLACE, shared, SHARED) == 0)
        send(guest->socket, &container, sizeof(container), MSG_NOSIGNAL);
    close(guest->socket);
    guest->socket = -1;
}

/* Milliseconds until tasks whose place is not open get their answer; 0: now. */
static int64_t time_left(const struct host *host)
{
    int64_t left = host->heard + QUIET_MS - berth_clock();

    return host->count >= host->expected || left < 0 ? 0 : left;
}

/* Answer the tasks that wait. Returns for how long to wait at most, in milliseconds,
 * before the next call; -1: for a task that comes or ends. */
static int answer_all(struct host *host)
{
    int64_t left = time_left(host);
    int most = -1;

    for (size_t i = 0; i < host->count; i++) {
        struct guest *guest = &host->guests[i];

        if (guest->socket >= 0 && left == 0)
            host->places[guest->place].is_open = true;
        if (guest->socket >= 0 && host->places[guest->place].is_open)
            answer(host, guest);
        if (guest->socket >= 0)
            most = (int)left;
        else if (host->ends[i].fd < 0 && most < 0)
            most = LOOK_AGAIN_MS;
    }
    return most;
}

/* The container of a task that has ended may have ended before it. */
static void report_loss(struct host *host)
{
    host->rendezvous.slots = host->used;
    if (host->is_reported || !berth_rendezvous_is_any_lost(&host->rendezvous))
        return;
    host->is_reported = true;
    berth_report_line(STDERR, host->wanted->node, "%s", BERTH_RENDEZVOUS_DIED);
}

/* Remove the tasks that have ended. */
static void dismiss(struct host *host)
{
    for (size_t i = host->count; i-- > 0;) {
        struct guest *guest = &host->guests[i];
        struct pollfd *end = &host->ends[i];

        if (end->fd >= 0 ? !end->revents : kill(guest->pid, 0) == 0)
            continue;
        if (end->fd >= 0)
            close(end->fd);
        if (guest->socket >= 0)
            close(guest->socket);
        *guest = host->guests[--host->count];
        *end = host->ends[host->count];
        report_loss(host);
    }
}

static void await_change(struct host *host)
{
    int most = answer_all(host);
    int listener = host->fds[0] < 0 ? -1 : LISTENER;
    struct pollfd *comes = &host->ends[host->count];
    bool has_come;

    *comes = (struct pollfd){.fd = listener, .events = POLLIN};
    has_come = poll(host->ends, host->count + 1, most) > 0 && comes->revents;
    dismiss(host);
    if (has_come)
        admit(host, berth_job_accept(LISTENER));
}

static void run(void *data)
{
    struct host *host = data;
    bool listens = host->fds[0] >= 0;
    struct berth_err err;

    host->most = listens ? BERTH_CONTAINERS_MAX : 1;
    if (berth_detach(host->fds, DESCRIPTORS, NULL) < 0)
        return;
    berth_limits_raise();
    if (berth_rendezvous_make(&host->rendezvous, host->most, &err) < 0)
        return;
    berth_rendezvous_configure(&host->rendezvous, host->wanted->limit,
                               host->wanted->forbidden);
    if (listens)
        sched_getaffinity(find_stepd(), sizeof(host->rendezvous.node->cpus),
                          &host->rendezvous.node->cpus);
    admit(host, FIRST);
    while (host->count > 0)
        await_change(host);
    if (listens)
        close(LISTENER); /* a task that comes now begins again */
    close(STDERR);
    berth_rendezvous_close(&host->rendezvous);
}

/* Start the process, with LISTENER (-1: none), which is closed. Returns a socket to it;
 * -1 with a sentence in ERR. */
static int found(const struct berth_meeting *wanted, int listener,
                 struct berth_err *err)
{
    int ends[2] = {-1, -1};
    struct host host = {.wanted = wanted,
                        .expected = listener < 0 ? 1 : count_expected()};
    int result;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        result = berth_err_spent(err, errno);
    else {
        memcpy(host.fds, (int[]){listener, ends[1], STDERR_FILENO}, sizeof(host.fds));
        result = berth_detach_run(run, NULL, &host, err);
        close(ends[1]);
    }
    if (listener >= 0)
        close(listener);
    if (result == 0)
        return ends[0];
    close(ends[0]);
    return -1;
}

/* Ask for the place of KEY. Returns 0, or -1 if there is no answer. */
static int ask(int socket, uint64_t key, struct berth_order *order)
{
    struct pollfd end = {.fd = socket, .events = POLLIN};
    int shared[SHARED];

    if (send(socket, &key, sizeof(key), MSG_NOSIGNAL) < 0)
        return -1;
    while (poll(&end, 1, -1) < 0)
        ;
    if (berth_job_receive_all(socket, shared, SHARED) != PLACE ||
        recv(socket, &order->container, sizeof(order->container), 0) !=
            sizeof(order->container))
        return -1;
    for (int i = 0; i < SHARED; i++)
        fcntl(shared[i], F_SETFD, 0);
    order->memory = shared[0];
    order->tasks = shared[1];
    order->ended = shared[2];
    order->report = shared[3];
    return 0;
}

/* The number of namespace NAME of this process. */
static uintmax_t number_of(const char *name)
{
    struct stat status = {0};

    stat(name, &status);
    return status.st_ino;
}

static socklen_t make_address(struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1,
             "berth/%u/%.20s.%.20s/%d/%jx.%jx.%jx/" BERTH_VERSION, geteuid(),
             getenv("SLURM_JOB_ID"), getenv("SLURM_STEP_ID"), find_stepd(),
             number_of("/proc/self/ns/user"), number_of("/proc/self/ns/pid"),
             number_of("/proc/self/ns/mnt"));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       strlen(ret->sun_path + 1));
}

/* Find the process, or start it. Returns a socket to it; -1 with a sentence in ERR. */
static int find(const struct berth_meeting *wanted, struct berth_err *err)
{
    struct sockaddr_un address;
    socklen_t length = make_address(&address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0 &&
        listen(fd, SOMAXCONN) == 0)
        return found(wanted, fd, err);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, length) == 0) {
        if (berth_job_peer(fd).uid == geteuid())
            return fd;
        errno = EADDRINUSE; /* by another user */
    }
    berth_err_spent(err, errno);
    if (fd >= 0)
        close(fd);
    return -1;
}

/* The process may end before it answers, because all other tasks have ended: then a new
 * one starts. */
int berth_meeting_join(const struct berth_meeting *wanted, struct berth_order *order,
                       struct berth_err *err)
{
    enum { PAUSE_MS = 2 };
    int64_t until = berth_clock() + PATIENCE_MS;

    do {
        BERTH_CLOSE int socket =
            berth_meeting_is_step() ? find(wanted, err) : found(wanted, -1, err);

        if (socket >= 0 && ask(socket, wanted->key, order) == 0)
            return 0;
        if (socket >= 0)
            berth_err_spent(err, ECONNRESET);
        poll(NULL, 0, PAUSE_MS);
    } while (berth_clock() < until);
    return -1;
}
