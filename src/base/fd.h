/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* Append the bytes of FD, a file, pipe or socket, to BUF: up to the end of FD, or until
 * BUF holds MOST bytes. Returns 0, also out of memory (see `failed` of BUF); -1 with
 * errno, and BUF has what was read before the error. */
int berth_fd_read(int fd, size_t most, struct berth_buf *buf);

/* The same for the file PATH. */
int berth_fd_read_path(const char *path, size_t most, struct berth_buf *buf);

/* Make memory that has a descriptor and no name, which no program can be executed from
 * (memfd_create(2), with FLAGS). Returns the descriptor, or -1 with errno. */
int berth_fd_memory(const char *name, unsigned int flags);

/* Copy the file FROM into such memory, from which it can be executed, and which nobody
 * can change from then on (F_ADD_SEALS, fcntl(2)). Returns a descriptor that is closed
 * on exec, or -1 with errno: EACCES also where vm.memfd_noexec forbids it. */
int berth_fd_sealed(int from, const char *name);

/* Write the COUNT bytes. Returns 0, or -1 with errno. */
int berth_fd_write(int fd, const void *bytes, size_t count);

/* Call first in main(): no file that is opened later becomes standard input, output or
 * error. If one of these is closed, a descriptor that cannot be read (0) or written (1,
 * 2) takes its number until exec. */
void berth_fd_reserve(void);
