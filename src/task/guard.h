/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_TASK_GUARD_H
#define BERTH_TASK_GUARD_H

#include <sys/types.h>

#include "base/err.h"
#include "plan/launch.h"

/* Slurm sends a signal to every process of a step, so the program that serves the image
 * (squashfuse, fuse-overlayfs) gets the application's SIGUSR1 and SIGTERM too and ends,
 * and the application loses its file system just when it writes a checkpoint. The
 * runtime starts that program with a clear mask and a clean environment, so it cannot
 * be made deaf from outside; but it can be traced (ptrace(2)), by anybody who may start
 * it. The guard is a small process that does only this: it lets the signals of the
 * kernel and of the runtime through and drops all others. It is not a child of the
 * task, holds none of its descriptors, and ends when the programs that it guards end.
 *
 * The two sides: berth-task starts it, berth-init in the image waits for it. */

/* Start a guard for the runtime of LAUNCH that the calling process will become. If that
 * ends before berth-init has started, or takes longer than LIMIT seconds (0: any time),
 * it also says so, with the runtime's words in LOG. Returns the descriptor by which
 * berth_guard_wait() reaches it, which stays open through exec; -1 with a sentence in
 * ERR. */
int berth_guard_start(const struct berth_launch *launch, int log, unsigned int limit,
                      struct berth_err *err);

/* For a process that does other work besides: trace the servers of images that RUNTIME
 * has started by now (returns how many), and let PID go on from the stop that waitpid()
 * told in STATUS. */
int berth_guard_seize(pid_t runtime);
void berth_guard_go_on(pid_t pid, int status, pid_t runtime);

/* Kill every child of the calling process. */
void berth_guard_end_children(void);

/* In the image: return when the guard is on duty, or will never be. Closes FD. */
void berth_guard_wait(int fd);

#endif
