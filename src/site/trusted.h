/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "site/syntax.h"

/* Open the regular file at PATH, which must be absolute, for reading, if only root and
 * OWNER can have written or replaced it: one of them owns the file, each directory
 * above it and each link to it, and neither the group nor others may write to them,
 * except to directories with the sticky bit. Opens one name of the path after the other
 * by descriptor, so that a directory cannot be exchanged after its check. Returns the
 * descriptor; or -1 with a sentence in ERR, and *RET_MISSING is 1 if the file does not
 * exist, but 0 if a link dangles. */
int berth_trusted_open(const char *path, uid_t owner, int *ret_missing,
                       struct berth_err *err);

/* Append the file FD, open at PATH, to BUF, up to one byte more than a file may have.
 * Returns 0, or -1 with a sentence in ERR. */
int berth_trusted_read(int fd, const char *path, struct berth_buf *buf,
                       struct berth_err *err);
