/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Is the open file or directory FD on a file system that several hosts mount at that
 * place (NFS, Lustre, ...)? False where that cannot be told, and of the root file
 * system: other hosts may have another one, and mounts that this one lacks. */
bool berth_filesystem_is_shared(int fd);

/* Is LINE, of /proc/self/mountinfo, that of mount MOUNT? Then *RET_SHARED is whether it
 * is such a file system. */
bool berth_filesystem_read(const char *line, int mount, bool *ret_shared);
