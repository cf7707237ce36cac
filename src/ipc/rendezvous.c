/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous of a step's tasks on a node, in memory that they share. */

#include "ipc/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "container/start.h"

/* How often a waiting task checks whether the starter was killed. */
enum { LOOK_AGAIN_MS = 500 };

/* A waiting task gives up so long after the limit: the starter keeps the limit, too,
 * and can report more. */
enum { GRACE_MS = 2000 };

/* How long slurmstepd waits for the end of a container, which takes a few milliseconds.
 */
enum { LAST_MS = 2000 };

/* The same if an image of the container is made first (--container-save). A step that
 * Slurm ends before, ends it. */
enum { SAVE_MS = 3600 * 1000 };

/* Bytes of the first part of the memory, and of a slot: more than the page and two
 * environments, of which Linux allows 6 MiB each. Pages that are not written take no
 * memory. */
#define NODE ((size_t)1 << 20)
#define SLOT ((size_t)16 << 20)
#define SIZE(containers)                                                               \
    (NODE + ((containers)-1) * SLOT + sizeof(struct berth_rendezvous_page))

/* Map SIZE bytes at OFFSET. Returns NULL with a sentence in ERR if that fails. */
static void *map(int memory, size_t size, size_t offset, struct berth_err *err)
{
    void *page =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, (off_t)offset);

    if (page != MAP_FAILED)
        return page;
    berth_err_spent(err, errno);
    return NULL;
}

/* The memory may grow, for the environment of READY, but not shrink, because
 * slurmstepd reads it, too. */
static int make_memory(size_t size)
{
    int fd = berth_fd_memory("berth", MFD_ALLOW_SEALING);

    if (fd < 0)
        return -1;
    if (ftruncate(fd, (off_t)size) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) == 0)
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

void berth_rendezvous_leave(struct berth_rendezvous *rendezvous)
{
    int *const fds[] = {&rendezvous->memory, &rendezvous->tasks, &rendezvous->alive,
                        &rendezvous->ended};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}

/* Make the sockets and the pipe, and map the memory, which has SIZE bytes. */
static int make_rest(struct berth_rendezvous *rendezvous, size_t size,
                     struct berth_err *err)
{
    if (make_sockets(rendezvous, err) < 0 || make_pipe(rendezvous, err) < 0)
        return -1;
    rendezvous->node = map(rendezvous->memory, size, 0, err);
    if (!rendezvous->node)
        return -1;
    rendezvous->page = (void *)((char *)rendezvous->node + NODE);
    return 0;
}

int berth_rendezvous_make(struct berth_rendezvous *rendezvous, unsigned int containers,
                          struct berth_err *err)
{
    size_t size = SIZE(containers);

    *rendezvous = (struct berth_rendezvous){.slots = containers,
                                            .memory = make_memory(size),
                                            .tasks = -1,
                                            .alive = -1,
                                            .ended = -1};
    if (rendezvous->memory < 0)
        return berth_err_spent(err, errno);
    if (make_rest(rendezvous, size, err) == 0)
        return 0;
    berth_rendezvous_leave(rendezvous);
    return -1;
}

/* The page of SLOT in slurmstepd. */
static struct berth_rendezvous_page *page_of(const struct berth_rendezvous *rendezvous,
                                             unsigned int slot)
{
    return (void *)((char *)rendezvous->page + slot * SLOT);
}

void berth_rendezvous_unmap(struct berth_rendezvous *rendezvous)
{
    munmap(rendezvous->node, SIZE(rendezvous->slots));
}

bool berth_rendezvous_is_ended(const struct berth_rendezvous *rendezvous,
                               unsigned int slot)
{
    return page_of(rendezvous, slot)->state >= BERTH_RENDEZVOUS_FAILED;
}

void berth_rendezvous_configure(const struct berth_rendezvous *rendezvous,
                                unsigned int limit, const char *forbidden)
{
    struct berth_rendezvous_node *node = rendezvous->node;

    node->limit = limit;
    berth_err_set(&node->forbidden, "%s", berth_text_or(forbidden, ""));
    sched_getaffinity(0, sizeof(node->cpus), &node->cpus);
}

/* Wait at most MILLISECONDS until no process has the writing end of the pipe. */
static bool is_deserted(const struct berth_rendezvous *rendezvous, int milliseconds)
{
    struct pollfd writers = {.fd = rendezvous->ended};

    return poll(&writers, 1, milliseconds) > 0 && (writers.revents & POLLHUP);
}

bool berth_rendezvous_is_any_lost(const struct berth_rendezvous *rendezvous)
{
    bool deserted = is_deserted(rendezvous, 0);

    for (unsigned int i = 0; i < rendezvous->slots; i++) {
        uint32_t state = page_of(rendezvous, i)->state;
        bool was_killed = state == BERTH_RENDEZVOUS_READY && deserted;

        if (state == BERTH_RENDEZVOUS_LOST || was_killed)
            return true;
    }
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
    rendezvous->node = map(rendezvous->memory, sizeof(*rendezvous->node), 0, err);
    rendezvous->page =
        map(rendezvous->memory, SLOT, NODE + rendezvous->slot * SLOT, err);
    if (!rendezvous->node || !rendezvous->page)
        return -1;
    return 0;
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
    if (rendezvous->ended < 0 && errno == EMFILE) /* it would look as if it had ended */
        return berth_err_spent(err, errno);
    return 0;
}

void berth_rendezvous_close(struct berth_rendezvous *rendezvous)
{
    int patience = LAST_MS;

    if (rendezvous->alive < 0)
        return;
    if (rendezvous->node->is_saved)
        patience = SAVE_MS;
    shutdown(rendezvous->alive, SHUT_WR);
    is_deserted(rendezvous, patience);
    berth_rendezvous_leave(rendezvous);
}

bool berth_rendezvous_reserve(const struct berth_rendezvous *rendezvous)
{
    pid_t starter = 0;

    if (atomic_compare_exchange_strong(&rendezvous->page->starter, &starter, getpid()))
        return true;
    return starter == getpid(); /* before it executed another program */
}

bool berth_rendezvous_claim(const struct berth_rendezvous *rendezvous)
{
    struct berth_rendezvous_page *page = rendezvous->page;
    uint32_t new = BERTH_RENDEZVOUS_NEW;

    if (!berth_rendezvous_reserve(rendezvous))
        return false;
    if (page->state == new) {
        berth_deadline_begin(&page->deadline, rendezvous->node->limit);
        atomic_compare_exchange_strong(&page->state, &new, BERTH_RENDEZVOUS_STARTING);
    }
    return true;
}

static bool is_waiting(uint32_t state)
{
    return state == BERTH_RENDEZVOUS_NEW || state == BERTH_RENDEZVOUS_STARTING;
}

static void wake(struct berth_rendezvous_page *page)
{
    syscall(SYS_futex, &page->state, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* End the start with STATE, for all tasks. Returns false if it has ended before. */
static bool end_start(struct berth_rendezvous_page *page,
                      enum berth_rendezvous_state state)
{
    uint32_t now = page->state;

    do {
        if (!is_waiting(now))
            return false;
    } while (!atomic_compare_exchange_weak(&page->state, &now, state));
    wake(page);
    return true;
}

void berth_rendezvous_lose(const struct berth_rendezvous *rendezvous)
{
    uint32_t ready = BERTH_RENDEZVOUS_READY;

    atomic_compare_exchange_strong(&rendezvous->page->state, &ready,
                                   BERTH_RENDEZVOUS_LOST);
    wake(rendezvous->page);
}

bool berth_rendezvous_await_loss(const struct berth_rendezvous *rendezvous,
                                 unsigned int seconds)
{
    const struct timespec most = {.tv_sec = seconds};

    syscall(SYS_futex, &rendezvous->page->state, FUTEX_WAIT, BERTH_RENDEZVOUS_READY,
            &most, NULL, 0);
    return rendezvous->page->state == BERTH_RENDEZVOUS_LOST;
}

/* Write why the start has failed, or why tasks separate, into ERR. */
static void explain(const struct berth_rendezvous *rendezvous, struct berth_err *err)
{
    switch (rendezvous->page->state) {
    case BERTH_RENDEZVOUS_LATE:
        berth_err_set(err, BERTH_START_TOO_LATE, rendezvous->node->limit);
        break;
    case BERTH_RENDEZVOUS_KILLED:
        berth_err_set(err, BERTH_RENDEZVOUS_STARTER_KILLED);
        break;
    case BERTH_RENDEZVOUS_FAILED:
    case BERTH_RENDEZVOUS_SEPARATE:
        *err = rendezvous->page->why;
    }
}

/* End the start with STATE; if it has ended before, -1 with the reason in ERR. */
static int end_or_explain(const struct berth_rendezvous *rendezvous,
                          enum berth_rendezvous_state state, struct berth_err *err)
{
    if (end_start(rendezvous->page, state))
        return 0;
    explain(rendezvous, err);
    return -1;
}

/* Only the starter writes the sentence, and before the state. */
int berth_rendezvous_fail(const struct berth_rendezvous *rendezvous,
                          const struct berth_err *why)
{
    rendezvous->page->why = *why;
    if (end_start(rendezvous->page, BERTH_RENDEZVOUS_FAILED))
        return 0;
    return -1;
}

int berth_rendezvous_separate(const struct berth_rendezvous *rendezvous,
                              const char *why, struct berth_err *err)
{
    berth_err_set(&rendezvous->page->why, "%s", why);
    return end_or_explain(rendezvous, BERTH_RENDEZVOUS_SEPARATE, err);
}

int berth_rendezvous_put(const struct berth_rendezvous *rendezvous,
                         const struct berth_buf *bytes,
                         struct berth_rendezvous_text *ret, struct berth_err *err)
{
    const struct berth_rendezvous_page *page = rendezvous->page;
    size_t used =
        page->binding.count + page->changes.count + page->image_directory.count;
    size_t at = sizeof(*page) + used; /* in the slot */
    off_t offset = (off_t)(NODE + rendezvous->slot * SLOT + at);
    ssize_t written;

    if (at + bytes->used > SLOT)
        return berth_err_spent(err, E2BIG);
    written = pwrite(rendezvous->memory, bytes->text, bytes->used, offset);
    if (written != (ssize_t)bytes->used)
        return berth_err_spent(err, errno);
    *ret = (struct berth_rendezvous_text){used, bytes->used};
    return 0;
}

int berth_rendezvous_ready(const struct berth_rendezvous *rendezvous,
                           struct berth_holder holder, const struct berth_buf *changes,
                           struct berth_err *err)
{
    struct berth_rendezvous_page *page = rendezvous->page;

    if (berth_rendezvous_put(rendezvous, changes, &page->changes, err) < 0)
        return -1;
    page->holder = holder;
    return end_or_explain(rendezvous, BERTH_RENDEZVOUS_READY, err);
}

static bool is_gone(pid_t pid)
{
    return pid > 0 && kill(pid, 0) < 0 && errno == ESRCH;
}

/* Give up for all tasks if the starter is gone, or is late. */
static void give_up(struct berth_rendezvous_page *page)
{
    if (is_gone(page->starter)) {
        end_start(page, BERTH_RENDEZVOUS_KILLED);
        return;
    }
    /* before, the deadline has no meaning */
    if (page->state != BERTH_RENDEZVOUS_STARTING)
        return;
    if (berth_deadline_left(&page->deadline) < -GRACE_MS)
        end_start(page, BERTH_RENDEZVOUS_LATE);
}

/* Wait until the state of PAGE is another one than STATE, for MILLISECONDS at most.
 * Returns the new one. */
static uint32_t await_change(struct berth_rendezvous_page *page, uint32_t state,
                             int64_t milliseconds)
{
    const struct timespec pause = {.tv_nsec = milliseconds * 1000000L};

    give_up(page);
    /* returns at once if the state is another one by now */
    syscall(SYS_futex, &page->state, FUTEX_WAIT, state, &pause, NULL, 0);
    return page->state;
}

bool berth_rendezvous_goes_on(const struct berth_rendezvous *rendezvous,
                              int64_t milliseconds)
{
    struct berth_rendezvous_page *page = rendezvous->page;
    const int64_t at_end = berth_deadline_left(&page->deadline) - milliseconds;
    uint32_t state = page->state;

    while (is_waiting(state)) {
        int64_t left = berth_deadline_left(&page->deadline) - at_end;

        if (left <= 0)
            return true;
        if (left > LOOK_AGAIN_MS)
            left = LOOK_AGAIN_MS;
        state = await_change(page, state, left);
    }
    return false;
}

enum berth_rendezvous_state
berth_rendezvous_wait(const struct berth_rendezvous *rendezvous, struct berth_err *err)
{
    struct berth_rendezvous_page *page = rendezvous->page;
    uint32_t state = page->state;

    while (is_waiting(state))
        state = await_change(page, state, LOOK_AGAIN_MS);
    explain(rendezvous, err);
    if (state == BERTH_RENDEZVOUS_LATE || state == BERTH_RENDEZVOUS_KILLED)
        return BERTH_RENDEZVOUS_FAILED;
    return (enum berth_rendezvous_state)state;
}
