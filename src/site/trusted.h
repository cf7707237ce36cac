/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* Append the regular file at PATH, which must be absolute, to BUF, up to one byte more
 * than site/syntax.h allows, if only root and OWNER can have written or replaced it:
 * one of them owns the file, each directory above it and each link to it, and neither
 * the group nor others may write to them, except to directories with the sticky bit.
 * BUF NULL: check the directory at PATH, which the sticky bit does not excuse.
 * Returns 0; or -1 with a sentence in ERR. *RET_MISSING (may be NULL) is then 1 if the
 * file does not exist, but 0 if a link dangles. */
int berth_trusted_read(const char *path, uid_t owner, int *ret_missing,
                       struct berth_buf *buf, struct berth_err *err);
