/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

/* Whole files, pipes and sockets: a call that is interrupted, or that moves a part
 * only, is made again. */

/* Append what FD has, to its end or until BUF holds MOST bytes. Returns 0 (also where
 * memory ran out: BUF says so); -1 with errno, and BUF has what came before. */
int berth_fd_read(int fd, size_t most, struct berth_buf *buf);

/* The same of the file PATH. */
int berth_fd_read_path(const char *path, size_t most, struct berth_buf *buf);

/* Write the COUNT bytes. Returns 0, or -1 with errno. */
int berth_fd_write(int fd, const void *bytes, size_t count);
