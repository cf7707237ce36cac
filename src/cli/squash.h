/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"
#include "cli/container.h"

/* What a squashfs file needs of a container whose image keeps its variables as a SIF
 * file does: the two files of enroot. Start with BERTH_SQUASH_NONE. */
struct berth_squash {
    bool has_scripts;             /* the image has scripts for its variables */
    struct berth_buf environment; /* the file /etc/environment */
    char *directory;              /* the working directory of the image; NULL: none */
    int files[3];                 /* descriptors for mksquashfs; -1: none */
};

#define BERTH_SQUASH_NONE                                                              \
    {                                                                                  \
        .files = { -1, -1, -1 }                                                        \
    }

/* Is FILE to be a squashfs file, by its name (.sqsh)? */
bool berth_squash_is(const char *file);

/* Read that of CONTAINER, which is on this node: runs the image's scripts in it, with a
 * shell of the image. Call it before the process has entered a user namespace. Returns
 * 0; or -1 with a sentence in ERR. */
int berth_squash_read(const struct berth_container *container, struct berth_squash *ret,
                      struct berth_err *err);

/* Append to ARGV, of mksquashfs, what makes the file PLACE of the image, of root and
 * with MODE (octal), from the descriptor FD, which must stay open on exec. */
void berth_squash_push_file(const char *place, const char *mode, int fd,
                            struct berth_strvec *argv);

/* Append to ARGV, of mksquashfs, what puts the two files into the image and leaves the
 * scripts out. SCRIPTS is a descriptor of the image's directory of scripts (-1: none).
 * Nothing else may follow. Returns 0, or -1 with a sentence in ERR. */
int berth_squash_push(struct berth_squash *squash, int scripts,
                      struct berth_strvec *argv, struct berth_err *err);

void berth_squash_fini(struct berth_squash *squash);

#define BERTH_SQUASH __attribute__((cleanup(berth_squash_fini)))
