/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* The marks of step/mark.h: mounting and reading them. They are in a tmpfs in the
 * container: they end with it, belong to nobody else, and need no disk. */

/* As the owner of the container's namespaces: mount it. Returns 0, or -1 with errno. */
int berth_marks_mount(void);

/* In a task that has joined the container and will become the command: say which rank
 * its process is. Without the marks, or a variable of Slurm, nothing happens. */
void berth_marks_join(char *const *environment);

/* The marks in the container of HOLDER. Returns a descriptor; -1: there are none. */
int berth_marks_open(pid_t holder);

/* Call FUNCTION with DATA for each task that has joined: its SLURM_LOCALID, its
 * process, its rank of the step. */
void berth_marks_each(int marks,
                      void (*function)(void *data, unsigned int local, pid_t pid,
                                       unsigned int rank),
                      void *data);

/* Has the task LOCAL, which is process PID or one of its descendants, loaded the host's
 * MPI from the stage of name STAGE? */
bool berth_marks_has(int marks, unsigned int local, pid_t pid, const char *stage);
