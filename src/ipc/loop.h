/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <poll.h>
#include <stddef.h>

/* The loop of a server: it waits until something is to be read, or has ended, at one of
 * several descriptors, and calls the function of each such descriptor. Start with `=
 * {0}`; a server ends with its process, so nothing frees the loop. */
struct berth_loop {
    struct pollfd *fds;
    struct berth_loop_entry *entries; /* beside `fds` */
    size_t count;
    size_t fd_room, entry_room;
};

/* Call READY with DATA when FD can be read. Borrows both, and does not close FD. At
 * most one function is called for a descriptor. Returns 0, or -1 out of memory. */
int berth_loop_add(struct berth_loop *loop, int fd, void (*ready)(void *data),
                   void *data);

/* Watch FD no more. Does nothing if it is not watched. */
void berth_loop_remove(struct berth_loop *loop, int fd);

/* Wait at most MILLISECONDS (-1: without a limit), and call the functions of those that
 * can be read: that of the descriptor that was added last first, so that a listener,
 * the first, sees a client come after another has ended. Functions may add and remove.
 * Returns how many can be read; 0: the time is over, or a signal has come. */
int berth_loop_wait(struct berth_loop *loop, int milliseconds);
