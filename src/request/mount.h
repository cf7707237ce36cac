/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"

enum berth_mount_mode {
    BERTH_MOUNT_RW,
    BERTH_MOUNT_RO,
    BERTH_MOUNT_SQSH, /* the files in a squashfs file, read-only */
};

/* One mount, as written `SRC[:DST[:ro|rw|sqsh]]`. */
struct berth_mount {
    char *source;      /* on the node */
    char *destination; /* in the image; the same as source when not said */
    enum berth_mount_mode mode;
};

/* Read one mount. SOURCE may be relative in TEXT: it is then relative to BASE, or an
 * error when BASE is NULL. DST must be absolute. On success the caller owns *RET_MOUNT
 * (berth_mount_fini). */
int berth_mount_parse(const char *text, const char *base, struct berth_mount *ret_mount,
                      struct berth_err *err);

/* The same, appended to MOUNTS in its full form `SRC:DST:ro|rw|sqsh`. */
int berth_mount_append(const char *text, const char *base, struct berth_strvec *mounts,
                       struct berth_err *err);

/* The same for each mount of a list separated by commas. */
int berth_mount_parse_list(const char *text, const char *base,
                           struct berth_strvec *mounts, struct berth_err *err);

/* Append MOUNT to MOUNTS in its full form, with SOURCE in place of its own unless NULL.
 */
void berth_mount_push(const struct berth_mount *mount, const char *source,
                      struct berth_strvec *mounts);

void berth_mount_fini(struct berth_mount *mount);

#define BERTH_MOUNT __attribute__((cleanup(berth_mount_fini)))
