/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* Open the regular file at PATH, which is absolute, for reading, if nobody but root and
 * OWNER could have written or replaced it: each directory and each link on the way is
 * theirs, neither group nor others may write to it, but to directories with the sticky
 * bit. The path is opened one name after the other, by descriptor, so that what was
 * checked is what is used. Returns the descriptor, or -1 with a sentence in ERR; then
 * *RET_MISSING tells whether the file just does not exist (and is not a dangling link).
 */
int berth_trusted_open(const char *path, uid_t owner, int *ret_missing,
                       struct berth_err *err);

/* Append what FD, open at PATH, holds to BUF; no more than is needed to see that it is
 * too long for site/syntax.h. */
int berth_trusted_read(int fd, const char *path, struct berth_buf *buf,
                       struct berth_err *err);
