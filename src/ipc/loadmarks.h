/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Mounts and reads the marks of ipc/loadmark.h. They are in a tmpfs of the container:
 * they end with the container, belong to it alone, and need no disk. */

/* Mount the tmpfs, as the owner of the container's namespaces. Returns 0, or -1 with
 * errno. */
int berth_loadmarks_mount(void);

/* In a task that has joined the container and will become the command: record which
 * rank the process is. Does nothing without the tmpfs, or without SLURM_LOCALID and
 * SLURM_PROCID in ENVIRONMENT. */
void berth_loadmarks_join(char *const *environment);

/* Open the tmpfs in the container of HOLDER. Returns a descriptor; -1: it is not
 * mounted. */
int berth_loadmarks_open(pid_t holder);

/* Call FUNCTION with DATA for each task that has joined: its SLURM_LOCALID, its
 * process, its rank of the step. */
void berth_loadmarks_each(int marks,
                          void (*function)(void *data, unsigned int local, pid_t pid,
                                           unsigned int rank),
                          void *data);

/* Has the task LOCAL, which is process PID or one of its descendants, loaded the host's
 * MPI from the stage of name STAGE? */
bool berth_loadmarks_has(int marks, unsigned int local, pid_t pid, const char *stage);
