/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Is the open file or directory FD on a file system of a type that hosts share (NFS,
 * Lustre, ...)? False if that is not known, and for the root file system: other hosts
 * may have another one, and mounts that this host lacks. */
bool berth_filesystem_is_shared(int fd);

/* Is LINE, of /proc/self/mountinfo, about the mount with id MOUNT? Then *RET_SHARED is
 * whether it is of such a file system. Public for a test. */
bool berth_filesystem_read(const char *line, int mount, bool *ret_shared);
