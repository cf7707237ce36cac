/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Kills the process PID and its descendants, except for servers (runtime/servers.h),
 * which are asked to end, so that they unmount. Returns whether there was a process to
 * kill. */
bool berth_kill_tree(pid_t pid);

/* Kill every child of the calling process but servers. */
void berth_kill_children(void);

/* Kill every process but one in the mount namespace that the descriptor SPACE is of. */
void berth_kill_namespace(int space, pid_t but);
