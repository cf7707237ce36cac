/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "request/request.h"
#include "base/strvec.h"

enum berth_image_kind {
    BERTH_IMAGE_SIF,     /* a SIF file (github.com/apptainer/sif) */
    BERTH_IMAGE_SANDBOX, /* a directory that holds a root file system */
};

/* What is known of an image. */
struct berth_image {
    enum berth_image_kind kind;
    const char *machine; /* as uname -m says it; NULL: not known */
};

/* Reads the image at PATH, as the calling user. Reads a SIF file's header and the list
 * of its parts, no more. Returns 0; -1 with a sentence `image 'PATH': what is wrong;
 * what would be right` if it is missing, unreadable, cut short, or not an image.
 * *RET_MISSING (may be NULL) says whether it failed because there is nothing at PATH.
 */
int berth_image_probe(const char *path, struct berth_image *ret_image, int *ret_missing,
                      struct berth_err *err);

/* Can the machine that this runs on (not a login node of another kind) run the image?
 */
int berth_image_check_machine(const char *path, const struct berth_image *image,
                              struct berth_err *err);

/* What tells the image at PATH from others, for people: appends name, value, ... to
 * RET: kind, machine, bytes, modified, and of a SIF file id, which its maker gave it.
 * What is not known is left out. */
int berth_image_describe(const char *path, struct berth_strvec *ret,
                         struct berth_err *err);

/* Is the image of REQUEST, which is a file now, on this node, and built for its
 * machine? */
int berth_image_check(const struct berth_request *request, struct berth_err *err);
