/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous of a step's tasks on a node, in memory that they share. */

#include "step/rendezvous.h"

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

#include "base/fd.h"

/* How often a waiting task checks whether the starter was killed. */
enum { LOOK_AGAIN_MS = 100 };

/* A waiting task gives up so long after the limit: the starter keeps the limit, too,
 * and can report more. */
enum { GRACE_MS = 2000 };

/* How long slurmstepd waits for the end of a container, which takes a few milliseconds.
 */
enum { LAST_MS = 2000 };

struct berth_rendezvous_page {
    _Atomic uint32_t state; /* a futex */
    _Atomic pid_t starter;  /* the process that starts the container; 0: none yet */
    struct berth_holder holder;
    unsigned int tasks;
    unsigned int limit;
    struct berth_deadline deadline;
    cpu_set_t cpus;
    bool forbidden; /* must tasks not join? WHY says why */
    struct berth_err why;
    atomic_bool unpacked;
    atomic_bool changed; /* the file of the image */
    atomic_bool failed;  /* a task of the node */
    atomic_int dropped;  /* the host's LD_LIBRARY_PATH, in tasks that run */
    struct berth_outer outer;
    size_t binding; /* bytes of text[] */
    size_t before;  /* bytes behind them */
    size_t after;   /* bytes behind them */
    char text[];
};

/* Bytes of a slot: more than the page and two environments, of which Linux allows 6 MiB
 * each. Pages that are not written take no memory. */
#define SLOT ((size_t)16 << 20)

static int map(struct berth_rendezvous *rendezvous, size_t size, struct berth_err *err)
{
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
                      rendezvous->memory, (off_t)(rendezvous->slot * SLOT));

    if (page == MAP_FAILED)
        return berth_err_spent(err, errno);
    rendezvous->page = page;
    return 0;
}

/* The memory may grow, for the environments of READY, but not shrink, because
 * slurmstepd reads it, too. */
static int make_memory(unsigned int slots)
{
    size_t size = (slots - 1) * SLOT + sizeof(struct berth_rendezvous_page);
    int fd = berth_fd_memory("berth", MFD_ALLOW_SEALING);

    if (fd < 0 || (ftruncate(fd, (off_t)size) == 0 &&
                   fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) == 0))
        return fd;
    close(fd);
    return -1;
}

static int make_sockets(struct berth_rendezvous *rendezvous, struct berth_err *err)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
        return berth_err_spent(err, errno);
    rendezvous->tasks = ends[0];
    rendezvous->alive = ends[1];
    fcntl(rendezvous->alive, F_SETFD, FD_CLOEXEC);
    return 0;
}

/* Make the pipe. Only its reading end is inherited, and a task opens the writing end
 * through /proc: so it must have the permission, because slurmstepd makes the pipe as
 * root. No other process can name the pipe.
 */
static int make_pipe(struct berth_rendezvous *rendezvous, struct berth_err *err)
{
    int ends[2];

    if (pipe(ends) < 0)
        return berth_err_spent(err, errno);
    fchmod(ends[0], S_IWUSR | S_IWGRP | S_IWOTH);
    close(ends[1]);
    rendezvous->ended = ends[0];
    return 0;
}

static void close_all(struct berth_rendezvous *rendezvous)
{
    int *const fds[] = {&rendezvous->memory, &rendezvous->tasks, &rendezvous->alive,
                        &rendezvous->ended};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}

int berth_rendezvous_make(struct berth_rendezvous *rendezvous, unsigned int containers,
                          struct berth_err *err)
{
    size_t last = (containers - 1) * SLOT;

    *rendezvous = (struct berth_rendezvous){.slots = containers,
                                            .memory = make_memory(containers),
                                            .tasks = -1,
                                            .alive = -1,
                                            .ended = -1};
    if (rendezvous->memory < 0)
        return berth_err_spent(err, errno);
    if (make_sockets(rendezvous, err) == 0 && make_pipe(rendezvous, err) == 0 &&
        map(rendezvous, last + sizeof(struct berth_rendezvous_page), err) == 0)
        return 0;
    close_all(rendezvous);
    return -1;
}

/* Returns the page of SLOT, in slurmstepd, which has mapped all. */
static struct berth_rendezvous_page *page_at(const struct berth_rendezvous *rendezvous,
                                             unsigned int slot)
{
    return (void *)((char *)rendezvous->page + slot * SLOT);
}

void berth_rendezvous_configure(struct berth_rendezvous *rendezvous, unsigned int limit,
                                const char *forbidden)
{
    for (unsigned int i = 0; i < rendezvous->slots; i++) {
        struct berth_rendezvous_page *page = page_at(rendezvous, i);

        page->limit = limit;
        page->forbidden = forbidden;
        if (forbidden)
            berth_err_set(&page->why, "%s", forbidden);
        sched_getaffinity(0, sizeof(page->cpus), &page->cpus);
    }
}

/* Has no process the writing end of the pipe? */
static bool is_deserted(const struct berth_rendezvous *rendezvous)
{
    struct pollfd writers = {.fd = rendezvous->ended};

    return poll(&writers, 1, 0) > 0 && (writers.revents & POLLHUP);
}

bool berth_rendezvous_is_any_lost(const struct berth_rendezvous *rendezvous)
{
    bool deserted = is_deserted(rendezvous);

    for (unsigned int i = 0; i < rendezvous->slots; i++) {
        unsigned int state = atomic_load(&page_at(rendezvous, i)->state);

        if (state == BERTH_RENDEZVOUS_LOST ||
            (state == BERTH_RENDEZVOUS_READY && deserted))
            return true;
    }
    return false;
}

enum { UNKNOWN, DROPPED, REFUSED };

void berth_rendezvous_set_dropped(const struct berth_rendezvous *rendezvous,
                                  bool dropped)
{
    int unknown = UNKNOWN;

    if (dropped)
        atomic_compare_exchange_strong(&rendezvous->page->dropped, &unknown, DROPPED);
    else
        atomic_store(&rendezvous->page->dropped, REFUSED);
}

bool berth_rendezvous_is_any_dropped(const struct berth_rendezvous *rendezvous)
{
    for (unsigned int i = 0; i < rendezvous->slots; i++)
        if (atomic_load(&page_at(rendezvous, i)->dropped) == DROPPED)
            return true;
    return false;
}

void berth_rendezvous_set_failed(const struct berth_rendezvous *rendezvous)
{
    for (unsigned int i = 0; i < rendezvous->slots; i++)
        atomic_store(&page_at(rendezvous, i)->failed, true);
}

bool berth_rendezvous_is_failed(const struct berth_rendezvous *rendezvous)
{
    return atomic_load(&rendezvous->page->failed);
}

void berth_rendezvous_set_changed(const struct berth_rendezvous *rendezvous)
{
    atomic_store(&rendezvous->page->changed, true);
}

bool berth_rendezvous_is_any_changed(const struct berth_rendezvous *rendezvous)
{
    for (unsigned int i = 0; i < rendezvous->slots; i++)
        if (atomic_load(&page_at(rendezvous, i)->changed))
            return true;
    return false;
}

/* Open the writing end of the pipe whose reading end is FD, and close FD. Returns -1 if
 * that fails: slurmstepd does not wait for this process then. */
static int open_other_end(int fd)
{
    char path[64];
    int other;

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    other = open(path, O_WRONLY | O_CLOEXEC);
    close(fd);
    return other;
}

int berth_rendezvous_map(struct berth_rendezvous *rendezvous, struct berth_err *err)
{
    rendezvous->alive = -1;
    return map(rendezvous, sizeof(struct berth_rendezvous_page), err);
}

void berth_rendezvous_leave(struct berth_rendezvous *rendezvous)
{
    close_all(rendezvous);
}

int berth_rendezvous_enter(struct berth_rendezvous *rendezvous, struct berth_err *err)
{
    int ended = rendezvous->ended;

    rendezvous->ended = -1;
    fcntl(rendezvous->memory, F_SETFD, FD_CLOEXEC);
    fcntl(rendezvous->tasks, F_SETFD, FD_CLOEXEC);
    if (berth_rendezvous_map(rendezvous, err) < 0)
        return -1;
    rendezvous->ended = open_other_end(ended);
    return 0;
}

void berth_rendezvous_close(struct berth_rendezvous *rendezvous)
{
    struct pollfd writers = {
        .fd = rendezvous->ended}; /* POLLHUP: the pipe has no writer */

    if (rendezvous->alive < 0)
        return;
    shutdown(rendezvous->alive, SHUT_WR);
    poll(&writers, 1, LAST_MS);
    close_all(rendezvous);
}

bool berth_rendezvous_claim(struct berth_rendezvous *rendezvous, unsigned int tasks)
{
    pid_t nobody = 0;
    uint32_t new = BERTH_RENDEZVOUS_NEW;

    if (!atomic_compare_exchange_strong(&rendezvous->page->starter, &nobody, getpid()))
        return nobody == getpid(); /* this process has claimed it before it executed
                                      another program */
    rendezvous->page->tasks = tasks;
    berth_deadline_begin(&rendezvous->page->deadline, rendezvous->page->limit);
    atomic_compare_exchange_strong(&rendezvous->page->state, &new,
                                   BERTH_RENDEZVOUS_STARTING);
    return true;
}

void berth_rendezvous_set_starter(struct berth_rendezvous *rendezvous, pid_t pid)
{
    atomic_store(&rendezvous->page->starter, pid);
}

static bool is_waiting(uint32_t state)
{
    return state == BERTH_RENDEZVOUS_NEW || state == BERTH_RENDEZVOUS_STARTING;
}

static void wake(struct berth_rendezvous *rendezvous)
{
    syscall(SYS_futex, &rendezvous->page->state, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* End the start with STATE, for all tasks. Returns false if it has ended before. */
static bool end_start(struct berth_rendezvous *rendezvous,
                      enum berth_rendezvous_state state)
{
    uint32_t now = atomic_load(&rendezvous->page->state);

    do {
        if (!is_waiting(now))
            return false;
    } while (!atomic_compare_exchange_weak(&rendezvous->page->state, &now, state));
    wake(rendezvous);
    return true;
}

void berth_rendezvous_lose(struct berth_rendezvous *rendezvous)
{
    uint32_t ready = BERTH_RENDEZVOUS_READY;

    atomic_compare_exchange_strong(&rendezvous->page->state, &ready,
                                   BERTH_RENDEZVOUS_LOST);
    wake(rendezvous);
}

bool berth_rendezvous_await_loss(struct berth_rendezvous *rendezvous,
                                 unsigned int seconds)
{
    const struct timespec most = {.tv_sec = seconds};

    syscall(SYS_futex, &rendezvous->page->state, FUTEX_WAIT, BERTH_RENDEZVOUS_READY,
            &most, NULL, 0);
    return berth_rendezvous_state(rendezvous) == BERTH_RENDEZVOUS_LOST;
}

enum berth_rendezvous_state
berth_rendezvous_state(const struct berth_rendezvous *rendezvous)
{
    return (enum berth_rendezvous_state)atomic_load(&rendezvous->page->state);
}

/* Write why the start has failed, or why tasks separate, into ERR. */
static void explain(const struct berth_rendezvous *rendezvous,
                    enum berth_rendezvous_state state, struct berth_err *err)
{
    if (state == BERTH_RENDEZVOUS_LATE)
        berth_err_set(err, BERTH_RENDEZVOUS_TOO_LATE, rendezvous->page->limit);
    else if (state == BERTH_RENDEZVOUS_KILLED)
        berth_err_set(err, BERTH_RENDEZVOUS_STARTER_KILLED);
    else if (state == BERTH_RENDEZVOUS_FAILED || state == BERTH_RENDEZVOUS_SEPARATE)
        *err = rendezvous->page->why;
}

/* Only the starter writes the sentence, and before the state. */
int berth_rendezvous_fail(struct berth_rendezvous *rendezvous,
                          const struct berth_err *why)
{
    rendezvous->page->why = *why;
    return end_start(rendezvous, BERTH_RENDEZVOUS_FAILED) ? 0 : -1;
}

int berth_rendezvous_separate(struct berth_rendezvous *rendezvous, const char *why,
                              struct berth_err *err)
{
    berth_err_set(&rendezvous->page->why, "%s", why);
    if (end_start(rendezvous, BERTH_RENDEZVOUS_SEPARATE))
        return 0;
    explain(rendezvous, berth_rendezvous_state(rendezvous), err);
    return -1;
}

const char *berth_rendezvous_why_forbidden(const struct berth_rendezvous *rendezvous)
{
    return rendezvous->page->forbidden ? rendezvous->page->why.text : NULL;
}

void berth_rendezvous_set_unpacked(const struct berth_rendezvous *rendezvous)
{
    atomic_store(&rendezvous->page->unpacked, true);
}

bool berth_rendezvous_is_unpacked(const struct berth_rendezvous *rendezvous)
{
    return atomic_load(&rendezvous->page->unpacked);
}

/* Write BUF at OFFSET behind the page. */
static bool write_at(const struct berth_rendezvous *rendezvous,
                     const struct berth_buf *buf, size_t offset)
{
    size_t at = sizeof(struct berth_rendezvous_page) + offset;

    if (at + buf->used > SLOT) {
        errno = EFBIG;
        return false;
    }
    return pwrite(rendezvous->memory, buf->text, buf->used,
                  (off_t)(rendezvous->slot * SLOT + at)) == (ssize_t)buf->used;
}

int berth_rendezvous_put_binding(struct berth_rendezvous *rendezvous,
                                 const struct berth_buf *bytes, struct berth_err *err)
{
    if (!write_at(rendezvous, bytes, 0))
        return berth_err_spent(err, errno);
    rendezvous->page->binding = bytes->used;
    return 0;
}

int berth_rendezvous_get_binding(const struct berth_rendezvous *rendezvous,
                                 struct berth_binding *ret_binding,
                                 struct berth_err *err)
{
    return berth_binding_get(rendezvous->page->text, rendezvous->page->binding,
                             ret_binding, err);
}

int berth_rendezvous_ready(struct berth_rendezvous *rendezvous,
                           struct berth_holder holder, const struct berth_buf *before,
                           const struct berth_buf *after, struct berth_err *err)
{
    size_t at = rendezvous->page->binding;

    if (!write_at(rendezvous, before, at) ||
        !write_at(rendezvous, after, at + before->used))
        return berth_err_spent(err, errno);
    rendezvous->page->before = before->used;
    rendezvous->page->after = after->used;
    rendezvous->page->holder = holder;
    if (end_start(rendezvous, BERTH_RENDEZVOUS_READY))
        return 0;
    explain(rendezvous, berth_rendezvous_state(rendezvous), err);
    return -1;
}

static bool is_gone(pid_t pid)
{
    return pid > 0 && kill(pid, 0) < 0 && errno == ESRCH;
}

/* Map the memory again, with the texts for the tasks, which follow the page. */
static enum berth_rendezvous_state map_texts(struct berth_rendezvous *rendezvous,
                                             enum berth_rendezvous_state state,
                                             struct berth_err *err)
{
    size_t size = sizeof(*rendezvous->page) + rendezvous->page->binding +
                  rendezvous->page->before + rendezvous->page->after;

    munmap(rendezvous->page, sizeof(*rendezvous->page));
    return map(rendezvous, size, err) < 0 ? BERTH_RENDEZVOUS_FAILED : state;
}

/* Give up for all tasks if the starter is gone, or is late. */
static void give_up(struct berth_rendezvous *rendezvous,
                    enum berth_rendezvous_state state)
{
    if (is_gone(atomic_load(&rendezvous->page->starter)))
        end_start(rendezvous, BERTH_RENDEZVOUS_KILLED);
    else if (state == BERTH_RENDEZVOUS_STARTING &&
             berth_deadline_left(&rendezvous->page->deadline) < -GRACE_MS)
        end_start(rendezvous, BERTH_RENDEZVOUS_LATE);
}

enum berth_rendezvous_state berth_rendezvous_wait(struct berth_rendezvous *rendezvous,
                                                  struct berth_err *err)
{
    const struct timespec pause = {.tv_nsec = LOOK_AGAIN_MS * 1000000L};
    enum berth_rendezvous_state state;

    while (is_waiting(state = berth_rendezvous_state(rendezvous))) {
        give_up(rendezvous, state);
        syscall(SYS_futex, &rendezvous->page->state, FUTEX_WAIT, state, &pause, NULL,
                0);
    }
    explain(rendezvous, state, err);
    if (state == BERTH_RENDEZVOUS_LATE || state == BERTH_RENDEZVOUS_KILLED)
        return BERTH_RENDEZVOUS_FAILED;
    if (state == BERTH_RENDEZVOUS_READY || state == BERTH_RENDEZVOUS_SEPARATE)
        return map_texts(rendezvous, state, err);
    return state;
}

struct berth_holder berth_rendezvous_holder(const struct berth_rendezvous *rendezvous)
{
    return rendezvous->page->holder;
}

const char *berth_rendezvous_before(const struct berth_rendezvous *rendezvous,
                                    size_t *ret_count)
{
    *ret_count = rendezvous->page->before;
    return rendezvous->page->text + rendezvous->page->binding;
}

const char *berth_rendezvous_after(const struct berth_rendezvous *rendezvous,
                                   size_t *ret_count)
{
    *ret_count = rendezvous->page->after;
    return rendezvous->page->text + rendezvous->page->binding +
           rendezvous->page->before;
}

const cpu_set_t *berth_rendezvous_cpus(const struct berth_rendezvous *rendezvous)
{
    return &rendezvous->page->cpus;
}

unsigned int berth_rendezvous_limit(const struct berth_rendezvous *rendezvous)
{
    return rendezvous->page->limit;
}

struct berth_deadline *
berth_rendezvous_deadline(const struct berth_rendezvous *rendezvous)
{
    return &rendezvous->page->deadline;
}

/* It is in the first slot, for all slots; mapped as long as the process lives. */
struct berth_outer *berth_rendezvous_outer(const struct berth_rendezvous *rendezvous,
                                           struct berth_err *err)
{
    struct berth_rendezvous first = {.memory = rendezvous->memory};

    return map(&first, sizeof(*first.page), err) < 0 ? NULL : &first.page->outer;
}

unsigned int berth_rendezvous_tasks(const struct berth_rendezvous *rendezvous)
{
    return rendezvous->page->tasks;
}
