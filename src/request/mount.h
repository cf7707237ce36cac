/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"

/* One bind mount, as written `SRC[:DST[:ro|rw]]`. */
struct berth_mount {
    char *source;      /* on the node */
    char *destination; /* in the image; the same as source when not said */
    bool read_only;
};

/* Read one mount. SOURCE may be relative in TEXT: it is then relative to BASE, or an
 * error when BASE is NULL. DST must be absolute. On success the caller owns *RET_MOUNT
 * (berth_mount_fini). Returns 0, or -1 with a sentence in ERR. */
int berth_mount_parse(const char *text, const char *base, struct berth_mount *ret_mount,
                      struct berth_err *err);

/* Read a list separated by commas and append each mount to MOUNTS in its full form
 * `SRC:DST:ro|rw`. Returns 0, or -1 with a sentence in ERR. */
int berth_mount_parse_list(const char *text, const char *base,
                           struct berth_strvec *mounts, struct berth_err *err);

void berth_mount_fini(struct berth_mount *mount);
