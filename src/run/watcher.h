/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "plan/launch.h"
#include "step/rendezvous.h"
#include "job/hostserver.h"

/* Slurm sends a signal to every process of a step. So the program that serves the image
 * (squashfuse, fuse-overlayfs) gets the application's SIGUSR1 and SIGTERM, too, and
 * ends; the application loses its file system just when it writes a checkpoint. The
 * runtime starts that program with an empty signal mask and environment, so the signals
 * cannot be blocked from outside. But the program can be traced (ptrace(2)) by its
 * user. The supervisor (run/supervisor.h) traces it for a container that tasks
 * share. Where a task becomes a runtime itself, a watcher traces it: a small process
 * that passes signals of the kernel and of the runtime on to these programs, and drops
 * all others. The watcher is not a child of the task, holds no descriptor of the task,
 * and ends when these programs end.
 *
 * berth-start starts the watcher, and berth-init in the image waits for it. */

/* The runtime that a watcher watches. Borrows everything. */
struct berth_watcher {
    const struct berth_launch *launch;
    const struct berth_rendezvous *rendezvous; /* NULL: none */
    int log; /* the output of the runtime until berth-init has started (step/log.h) */
    int report; /* as in step/report.h; -1: none */
    const struct berth_hostcommand *hostcommand;
};

/* The answer of a watcher to berth-init: the servers are traced, or the command must
 * not run. */
enum { BERTH_WATCHER_READY, BERTH_WATCHER_REFUSES };

/* Start a watcher for the runtime that the calling process will become. If the runtime
 * ends before berth-init has started, or takes longer than the rendezvous allows, the
 * watcher reports it. Returns the descriptor by which berth-init reaches the watcher,
 * which stays open through exec; -1 with a sentence in ERR. */
int berth_watcher_start(const struct berth_watcher *what, struct berth_err *err);
