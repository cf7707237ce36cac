/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* A directory of the node in which the runtime keeps what tasks write to an image
 * (--container-writable): TOP/berth-write.UID.NODE.XXXXXX. The lock of a file in it
 * (flock(2)) is held as long as a process has its descriptor: the supervisor, the
 * runtime, and berth-init in the container. If all were killed, nobody holds the lock,
 * and the user's next start on NODE removes the directory.
 *
 * The container gets the file and never the directory: a program of the image can open
 * what berth-init has open (/proc/PID/fd), and from a directory of the host `..` leads
 * to the rest of it. */
struct berth_overlay {
    char *path;    /* NULL: there is none */
    int directory; /* that it was made in; -1: none */
    int lock;      /* the file; -1: none */
};

#define BERTH_OVERLAY_NONE ((struct berth_overlay){NULL, -1, -1})

/* Remove what killed containers of the calling user have left in TOP (NULL: $TMPDIR,
 * else /tmp), and make a new directory there. Only directories are removed in which is
 * nothing but what berth makes. *RET is to be removed after success. Returns 0, or -1
 * with a sentence in ERR. */
int berth_overlay_make(const char *top, const char *node, struct berth_overlay *ret,
                       struct berth_err *err);

/* Remove the directory, if there is one. */
void berth_overlay_remove(struct berth_overlay *overlay);

/* Wait until no container uses the directory PATH, which another process has made and
 * removes, for some seconds. Returns a descriptor of the lock that a container holds as
 * long as it uses the directory; or -1 with a sentence in ERR. */
int berth_overlay_use(const char *path, struct berth_err *err);

/* The same as berth_overlay_remove(), with the files of subordinate ids of the user:
 * USERS is a descriptor of a user namespace with these ids; -1: there is none. */
void berth_overlay_remove_in(struct berth_overlay *overlay, int users);

/* Does the file system of FD, the file of such a directory, have no room left? Then WHY
 * says it. */
bool berth_overlay_is_full(int fd, struct berth_err *why);

/* Open the file in the directory of the container of process HOLDER, without its lock.
 * Returns a descriptor; -1: there is none. */
int berth_overlay_open(pid_t holder);

/* Open the directory in which the container of process HOLDER keeps what its tasks
 * write to the image. Call it before the process has entered a user namespace. Returns
 * a descriptor; -1: there is none, or it is not the user's alone. */
int berth_overlay_upper(pid_t holder);

/* Who lays that directory over the image of the container of process HOLDER. */
const char *berth_overlay_by(pid_t holder);
