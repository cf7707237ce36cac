/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "plan/launch.h"

/* Compares each mount of a container with its source: a runtime may leave out or hide a
 * mount and say nothing (a place behind a symbolic link of another mount, a mount of
 * its own on the place). berth-init looks at the places, as the first process in the
 * container; the supervisor looks at the sources, before the runtime starts. */

/* What berth-init sees at a place. */
struct berth_mountcheck_seen {
    uint64_t device, inode;
    uint64_t special;     /* st_rdev of a device file; 0: it is none */
    int32_t error;        /* errno of stat(2); 0: the members above are set */
    int32_t is_read_only; /* of statvfs(3) */
};

/* The most bytes of all places: more are not looked at. */
enum { BERTH_MOUNTCHECK_MOST = 1 << 20 };

/* Start with `= {0}`, end with berth_mountcheck_fini(). */
struct berth_mountcheck {
    struct berth_plan plan; /* the mounts */
    struct stat *sources;   /* of each; st_nlink 0: it cannot be looked at */
    struct berth_buf
        places;   /* for berth-init, each ended by NUL: of each mount its place,
                     and of a squashfs file also the directory above it */
    size_t count; /* of places */
};

/* Look at the sources of the mounts of LAUNCH. Returns 0, or -1 with a sentence in ERR.
 */
int berth_mountcheck_begin(const struct berth_launch *launch,
                           struct berth_mountcheck *ret, struct berth_err *err);

/* Compare with what berth-init has SEEN at the places. A place or source that the user
 * may not look at counts as right. Only mounts of users and sites count: nobody has
 * asked for the others. Returns 0, or -1 with a sentence in ERR for the first mount
 * that is not there. */
int berth_mountcheck_compare(const struct berth_mountcheck *check,
                             const struct berth_mountcheck_seen *seen,
                             struct berth_err *err);

void berth_mountcheck_fini(struct berth_mountcheck *check);
