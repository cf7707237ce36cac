/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_TASK_KIN_H
#define BERTH_TASK_KIN_H

#include <stddef.h>
#include <sys/types.h>

/* The children of all threads of PID (proc_pid_task(5): the file `children`, which a
 * kernel may lack). Returns how many are in *RET_CHILDREN, which the caller frees. */
size_t berth_kin_children(pid_t pid, pid_t **ret_children);

#endif
