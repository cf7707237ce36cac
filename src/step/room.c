/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous of a step's tasks on a node, in memory that they share. */

#include "step/room.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What a waiter looks for anew: often enough to notice a killed starter. */
enum { LOOK_AGAIN_MS = 100 };

/* Beyond the limit: the starter keeps the limit too, and can say more. */
enum { GRACE_MS = 2000 };

/* How long the container may take to end. It takes a few of these. */
enum { LAST_MS = 2000 };

struct berth_room_page {
    _Atomic uint32_t state; /* a futex */
    _Atomic pid_t starter;  /* who starts it now; 0: nobody yet */
    pid_t holder;
    unsigned int tasks;
    unsigned int limit;
    struct berth_deadline deadline;
    cpu_set_t cpus;
    bool forbidden; /* to join; why: because */
    struct berth_err why;
    struct berth_err note; /* text "": none */
    bool differs;          /* the note, from those of other nodes */
    struct berth_err warning;
    atomic_bool unpacked;
    size_t told;   /* bytes of text[] */
    size_t before; /* bytes behind them */
    size_t after;  /* bytes behind them */
    char text[];
};

static int map(struct berth_room *room, size_t size, struct berth_err *err)
{
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, room->memory, 0);

    if (page == MAP_FAILED)
        return berth_err_set(err, "cannot share memory: %s", strerror(errno));
    room->page = page;
    return 0;
}

/* The memory may grow, for what READY tells, and not shrink: slurmstepd reads it too.
 */
static int make_memory(void)
{
    int fd = memfd_create("berth", MFD_ALLOW_SEALING);

    if (fd < 0 || (ftruncate(fd, sizeof(struct berth_room_page)) == 0 &&
                   fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) == 0))
        return fd;
    close(fd);
    return -1;
}

static int make_sockets(struct berth_room *room, struct berth_err *err)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        return berth_err_set(err, "cannot make a pair of sockets: %s", strerror(errno));
    room->tasks = ends[0];
    room->alive = ends[1];
    fcntl(room->alive, F_SETFD, FD_CLOEXEC);
    return 0;
}

/* Who inherits the reading end may open the other one: slurmstepd makes the pipe as
 * root, and the tasks are the user's. Nobody else can name it. */
static int make_pipe(struct berth_room *room, struct berth_err *err)
{
    int ends[2];

    if (pipe(ends) < 0)
        return berth_err_set(err, "cannot make a pipe: %s", strerror(errno));
    fchmod(ends[0], S_IWUSR | S_IWGRP | S_IWOTH);
    close(ends[1]);
    room->ended = ends[0];
    return 0;
}

static void close_all(struct berth_room *room)
{
    int *const fds[] = {&room->memory, &room->tasks, &room->alive, &room->ended};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}

int berth_room_make(struct berth_room *room, struct berth_err *err)
{
    *room = (struct berth_room){
        .memory = make_memory(), .tasks = -1, .alive = -1, .ended = -1};
    if (room->memory < 0)
        return berth_err_set(err, "cannot share memory: %s", strerror(errno));
    if (make_sockets(room, err) == 0 && make_pipe(room, err) == 0 &&
        map(room, sizeof(struct berth_room_page), err) == 0)
        return 0;
    close_all(room);
    return -1;
}

void berth_room_furnish(struct berth_room *room, unsigned int tasks, unsigned int limit)
{
    room->page->tasks = tasks;
    room->page->limit = limit;
    sched_getaffinity(0, sizeof(room->page->cpus), &room->page->cpus);
}

void berth_room_name(const struct berth_room *room, char *text, size_t size)
{
    snprintf(text, size, "%d,%d,%d", room->memory, room->tasks, room->ended);
}

/* The writing end of the pipe whose reading end is FD; -1: it cannot be opened, and
 * slurmstepd will not wait for us. */
static int open_other_end(int fd)
{
    char path[64];
    int other;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    other = open(path, O_WRONLY | O_CLOEXEC);
    close(fd);
    return other;
}

int berth_room_enter(struct berth_room *room, const char *text, struct berth_err *err)
{
    int ended;

    *room = (struct berth_room){.alive = -1, .ended = -1};
    if (sscanf(text, "%d,%d,%d", &room->memory, &room->tasks, &ended) != 3)
        return berth_err_set(err, "'%s' does not name a room", text);
    fcntl(room->memory, F_SETFD, FD_CLOEXEC);
    fcntl(room->tasks, F_SETFD, FD_CLOEXEC);
    if (map(room, sizeof(struct berth_room_page), err) < 0)
        return -1;
    room->ended = open_other_end(ended);
    return 0;
}

void berth_room_close(struct berth_room *room)
{
    struct pollfd writers = {.fd = room->ended}; /* POLLHUP: there are none */

    if (room->alive < 0)
        return;
    shutdown(room->alive, SHUT_WR);
    poll(&writers, 1, LAST_MS);
    close_all(room);
}

bool berth_room_claim(struct berth_room *room)
{
    pid_t nobody = 0;
    uint32_t new = BERTH_ROOM_NEW;

    if (!atomic_compare_exchange_strong(&room->page->starter, &nobody, getpid()))
        return false;
    berth_deadline_begin(&room->page->deadline, room->page->limit);
    atomic_compare_exchange_strong(&room->page->state, &new, BERTH_ROOM_STARTING);
    return true;
}

void berth_room_hand_on(struct berth_room *room, pid_t pid)
{
    atomic_store(&room->page->starter, pid);
}

static bool is_waiting(uint32_t state)
{
    return state == BERTH_ROOM_NEW || state == BERTH_ROOM_STARTING;
}

/* The start ends so, for all, unless it has ended. Returns whether it did. */
static bool settle(struct berth_room *room, enum berth_room_state state)
{
    uint32_t now = atomic_load(&room->page->state);

    do {
        if (!is_waiting(now))
            return false;
    } while (!atomic_compare_exchange_weak(&room->page->state, &now, state));
    syscall(SYS_futex, &room->page->state, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    return true;
}

void berth_room_lose(struct berth_room *room)
{
    uint32_t ready = BERTH_ROOM_READY;

    atomic_compare_exchange_strong(&room->page->state, &ready, BERTH_ROOM_LOST);
}

enum berth_room_state berth_room_state(const struct berth_room *room)
{
    return (enum berth_room_state)atomic_load(&room->page->state);
}

/* Why the start has failed, or the tasks are to separate. */
static void explain(const struct berth_room *room, enum berth_room_state state,
                    struct berth_err *err)
{
    if (state == BERTH_ROOM_LATE)
        berth_err_set(err,
                      "the container did not start within %u seconds; ask the "
                      "administrators (start_timeout in berth.yaml)",
                      room->page->limit);
    else if (state == BERTH_ROOM_KILLED)
        berth_err_set(err, "the process that started the container was killed; "
                           "submit the step again");
    else if (state == BERTH_ROOM_FAILED || state == BERTH_ROOM_SEPARATE)
        *err = room->page->why;
}

/* Only who starts the container writes the sentence, before the state. */
int berth_room_fail(struct berth_room *room, const struct berth_err *why)
{
    room->page->why = *why;
    return settle(room, BERTH_ROOM_FAILED) ? 0 : -1;
}

int berth_room_separate(struct berth_room *room, const char *why, struct berth_err *err)
{
    berth_err_set(&room->page->why, "%s", why);
    if (settle(room, BERTH_ROOM_SEPARATE))
        return 0;
    explain(room, berth_room_state(room), err);
    return -1;
}

void berth_room_forbid(struct berth_room *room, const char *why)
{
    berth_err_set(&room->page->why, "%s", why);
    room->page->forbidden = true;
}

const char *berth_room_forbidden(const struct berth_room *room)
{
    return room->page->forbidden ? room->page->why.text : NULL;
}

void berth_room_note(struct berth_room *room, const char *note)
{
    berth_err_set(&room->page->note, "%s", note);
}

void berth_room_differ(struct berth_room *room)
{
    room->page->differs = true;
}

bool berth_room_differs(const struct berth_room *room)
{
    return room->page->differs;
}

const char *berth_room_noted(const struct berth_room *room)
{
    return *room->page->note.text ? room->page->note.text : NULL;
}

void berth_room_warn(struct berth_room *room, const char *warning)
{
    berth_err_set(&room->page->warning, "%s", warning);
}

const char *berth_room_warned(const struct berth_room *room)
{
    return *room->page->warning.text ? room->page->warning.text : NULL;
}

bool berth_room_unpack(const struct berth_room *room)
{
    return !atomic_exchange(&room->page->unpacked, true);
}

bool berth_room_unpacked(const struct berth_room *room)
{
    return atomic_load(&room->page->unpacked);
}

/* At OFFSET in what follows the page. */
static bool write_at(const struct berth_room *room, const struct berth_buf *buf,
                     size_t offset)
{
    off_t at = (off_t)(sizeof(struct berth_room_page) + offset);

    return pwrite(room->memory, buf->text, buf->used, at) == (ssize_t)buf->used;
}

int berth_room_tell(struct berth_room *room, const struct berth_buf *findings,
                    struct berth_err *err)
{
    if (!write_at(room, findings, 0))
        return berth_err_set(err, "cannot share the findings: %s", strerror(errno));
    room->page->told = findings->used;
    return 0;
}

int berth_room_put(struct berth_room *room, const struct berth_buf *before,
                   const struct berth_buf *after, struct berth_err *err)
{
    size_t told = room->page->told;

    if (!write_at(room, before, told) || !write_at(room, after, told + before->used))
        return berth_err_set(err, "cannot share the environment: %s", strerror(errno));
    room->page->before = before->used;
    room->page->after = after->used;
    return 0;
}

int berth_room_ready(struct berth_room *room, pid_t holder,
                     const struct berth_buf *before, const struct berth_buf *after,
                     struct berth_err *err)
{
    if (berth_room_put(room, before, after, err) < 0)
        return -1;
    room->page->holder = holder;
    if (settle(room, BERTH_ROOM_READY))
        return 0;
    explain(room, berth_room_state(room), err);
    return -1;
}

static bool is_gone(pid_t pid)
{
    return pid > 0 && kill(pid, 0) < 0 && errno == ESRCH;
}

/* All that berth_room_put() was told is in the memory: see it. */
static enum berth_room_state see(struct berth_room *room, enum berth_room_state state,
                                 struct berth_err *err)
{
    size_t size =
        sizeof(*room->page) + room->page->told + room->page->before + room->page->after;

    munmap(room->page, sizeof(*room->page));
    return map(room, size, err) < 0 ? BERTH_ROOM_FAILED : state;
}

/* Give up for all, where there is a reason to. */
static void give_up(struct berth_room *room, enum berth_room_state state)
{
    if (is_gone(atomic_load(&room->page->starter)))
        settle(room, BERTH_ROOM_KILLED);
    else if (state == BERTH_ROOM_STARTING &&
             berth_deadline_left(&room->page->deadline) < -GRACE_MS)
        settle(room, BERTH_ROOM_LATE);
}

enum berth_room_state berth_room_wait(struct berth_room *room, struct berth_err *err)
{
    const struct timespec pause = {.tv_nsec = LOOK_AGAIN_MS * 1000000L};
    enum berth_room_state state;

    while (is_waiting(state = berth_room_state(room))) {
        give_up(room, state);
        syscall(SYS_futex, &room->page->state, FUTEX_WAIT, state, &pause, NULL, 0);
    }
    explain(room, state, err);
    if (state == BERTH_ROOM_LATE || state == BERTH_ROOM_KILLED)
        return BERTH_ROOM_FAILED;
    if (state == BERTH_ROOM_READY || state == BERTH_ROOM_SEPARATE)
        return see(room, state, err);
    return state;
}

pid_t berth_room_holder(const struct berth_room *room)
{
    return room->page->holder;
}

const char *berth_room_before(const struct berth_room *room, size_t *ret_count)
{
    *ret_count = room->page->before;
    return room->page->text + room->page->told;
}

const char *berth_room_after(const struct berth_room *room, size_t *ret_count)
{
    *ret_count = room->page->after;
    return room->page->text + room->page->told + room->page->before;
}

const char *berth_room_told(const struct berth_room *room, size_t *ret_count)
{
    *ret_count = room->page->told;
    return room->page->text;
}

const cpu_set_t *berth_room_cpus(const struct berth_room *room)
{
    return &room->page->cpus;
}

unsigned int berth_room_limit(const struct berth_room *room)
{
    return room->page->limit;
}

struct berth_deadline *berth_room_deadline(const struct berth_room *room)
{
    return &room->page->deadline;
}

unsigned int berth_room_tasks(const struct berth_room *room)
{
    return room->page->tasks;
}
