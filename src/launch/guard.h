/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_LAUNCH_GUARD_H
#define BERTH_LAUNCH_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "plan/launch.h"
#include "step/rendezvous.h"

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

/* What a guard watches besides signals. */
struct berth_guard {
    int log;   /* what the runtime says until berth-init has started */
    int tasks; /* of step/rendezvous.h: end of file ends the runtime; -1: none */
    int ended; /* of step/rendezvous.h: held until all has ended; -1: none */
    const struct berth_rendezvous *rendezvous; /* NULL: there is none */
    unsigned int limit; /* seconds that a start may take; 0: any time */
};

/* A guard's answer to berth-init: it guards the server, or nothing may run. */
enum { BERTH_GUARD_GUARDS, BERTH_GUARD_REFUSES };

/* Start a guard for the runtime of LAUNCH that the calling process will become. If that
 * ends before berth-init has started, or takes too long, it also says so. Returns the
 * descriptor by which berth-init reaches it, which stays open through exec; -1
 * with a sentence in ERR. */
int berth_guard_start(const struct berth_launch *launch, const struct berth_guard *what,
                      struct berth_err *err);

/* For a process that does other work besides and has traced the servers
 * (launch/servers.h) of RUNTIME: let PID go on from the stop that waitpid() told in
 * STATUS. */
void berth_guard_go_on(pid_t pid, int status, pid_t runtime);

/* Kills the process PID and its descendants, except for servers. Returns whether there
 * was a process to kill. */
bool berth_guard_end_tree(pid_t pid);

/* Kill every child of the calling process; every process but one in the mount namespace
 * that the descriptor SPACE is of. */
void berth_guard_end_children(void);
void berth_guard_end_space(int space, pid_t but);

#endif
