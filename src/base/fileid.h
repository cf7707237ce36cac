/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

/* The identity of FILE: its device and inode, as text, which do not depend on its name.
 * The caller frees it; NULL when out of memory. */
char *berth_fileid_identity(const struct stat *file);

enum berth_fileid {
    BERTH_OPENED_NO,
    BERTH_OPENED_YES,
    BERTH_OPENED_HIDDEN, /* not known: the process runs a setuid program */
};

/* Does the process PID have the file IDENTITY open? */
enum berth_fileid berth_fileid_by(pid_t pid, const char *identity);

/* The message for an image that open(2) refuses; its argument is strerror(). */
#define BERTH_OPENED_FAILED "image '%s': cannot be opened: %s; check the path"

/* The message for an image whose path leads to another file than the one that was
 * checked. */
#define BERTH_OPENED_EXCHANGED                                                         \
    "image '%s': the file was replaced while the step started; submit again, and do "  \
    "not overwrite an image in use"
