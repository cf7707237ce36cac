/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "cli/container.h"

/* The file system of a container that runs, without what is mounted in it. */
struct berth_rootcopy {
    int fd;      /* of its root; stays open through exec, so that programs reach it */
    pid_t child; /* keeps it */
};

/* Make that of CONTAINER, which is on this node, and enter its user namespace, with the
 * permission to read all files of the user; so do programs that this process starts.
 * Returns 0, and the caller ends *RET; or -1 with a sentence in ERR, and this process
 * may be in that namespace. */
int berth_rootcopy_make(const struct berth_container *container,
                        struct berth_rootcopy *ret, struct berth_err *err);

/* End the child. The descriptor stays open. */
void berth_rootcopy_end(struct berth_rootcopy *copy);
