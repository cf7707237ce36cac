/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_PROBE_IMAGE_H
#define BERTH_PROBE_IMAGE_H

#include "base/err.h"

enum berth_image_kind {
    BERTH_IMAGE_SIF,     /* a SIF file (github.com/apptainer/sif) */
    BERTH_IMAGE_SANDBOX, /* a directory that holds a root file system */
};

/* What is found at PATH, as the calling user. Reads a SIF file's header and the list of
 * its parts, no more. Returns 0; -1 with a sentence `image 'PATH': what is wrong; what
 * would be right` for what is missing, unreadable, cut short, made for another machine,
 * or no image. *RET_MISSING (may be NULL) says whether it failed because there is
 * nothing at PATH. */
int berth_image_probe(const char *path, enum berth_image_kind *ret_kind,
                      int *ret_missing, struct berth_err *err);

#endif
