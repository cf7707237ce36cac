/* SPDX-License-Identifier: Apache-2.0 */
/* Waits at several descriptors, and calls the functions of those that can be read. */

#include "ipc/loop.h"

#include "base/grow.h"

/* What is done when the descriptor beside it can be read. */
struct berth_loop_entry {
    void (*ready)(void *data);
    void *data;
};

/* The descriptor of a place in the list that is to go; poll(2) ignores it. */
enum { REMOVED = -1 };

int berth_loop_add(struct berth_loop *loop, int fd, void (*ready)(void *data),
                   void *data)
{
    if (berth_grow(&loop->fds, loop->count, &loop->fd_room, sizeof(*loop->fds)) < 0)
        return -1;
    if (berth_grow(&loop->entries, loop->count, &loop->entry_room,
                   sizeof(*loop->entries)) < 0)
        return -1;
    loop->fds[loop->count] = (struct pollfd){.fd = fd, .events = POLLIN};
    loop->entries[loop->count] = (struct berth_loop_entry){ready, data};
    loop->count++;
    return 0;
}

void berth_loop_remove(struct berth_loop *loop, int fd)
{
    for (size_t i = 0; i < loop->count; i++)
        if (loop->fds[i].fd == fd)
            loop->fds[i].fd = REMOVED;
}

/* Close the gaps, in the same order. Not while functions are called: these count on the
 * places. */
static void drop_removed(struct berth_loop *loop)
{
    size_t kept = 0;

    for (size_t i = 0; i < loop->count; i++) {
        if (loop->fds[i].fd == REMOVED)
            continue;
        loop->fds[kept] = loop->fds[i];
        loop->entries[kept] = loop->entries[i];
        kept++;
    }
    loop->count = kept;
}

int berth_loop_wait(struct berth_loop *loop, int milliseconds)
{
    int ready;

    drop_removed(loop);
    ready = poll(loop->fds, loop->count, milliseconds);
    if (ready <= 0)
        return 0;

    /* what a function adds is behind this, and waits for the next turn */
    for (size_t i = loop->count; i-- > 0;) {
        const struct berth_loop_entry entry = loop->entries[i];

        if (loop->fds[i].fd != REMOVED && loop->fds[i].revents != 0)
            entry.ready(entry.data);
    }
    return ready;
}
