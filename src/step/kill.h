/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "step/namespaces.h"

/* Kill the process PID and its descendants, but no server (step/servers.h) and no
 * fusermount among them: a killed one would leave its mount. Returns whether PID was
 * there. */
bool berth_kill_tree(pid_t pid);

/* Kill HOLDER, and no other process that has its number by now. */
void berth_kill_holder(struct berth_holder holder);

/* Kill every child of the calling process that is not a server. */
void berth_kill_children(void);

/* Kill every process but process BUT in the mount namespace of the descriptor SPACE;
 * none if it is that of the caller. */
void berth_kill_namespace(int space, pid_t but);
