/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "plan/launch.h"
#include "step/rendezvous.h"
#include "supervise/hostcommand.h"

/* Slurm sends a signal to every process of a step, so the program that serves the image
 * (squashfuse, fuse-overlayfs) gets the application's SIGUSR1 and SIGTERM too and ends,
 * and the application loses its file system just when it writes a checkpoint. The
 * runtime starts that program with a clear mask and a clean environment, so it cannot
 * be made deaf from outside; but it can be traced (ptrace(2)), by anybody who may start
 * it. The supervisor (supervise/supervisor.h) does so for a container that tasks share.
 * Where a task becomes a runtime itself, a watcher does: a small process that lets the
 * signals of the kernel and of the runtime through to these programs and drops all
 * others. It is not a child of the task, holds none of its descriptors, and ends when
 * the programs that it watches end.
 *
 * The two sides: berth-start starts it, berth-init in the image waits for it. */

/* The runtime that a watcher watches. Borrows everything. */
struct berth_watcher {
    const struct berth_launch *launch;
    const struct berth_rendezvous *rendezvous; /* NULL: there is none */
    int log;    /* what the runtime says until berth-init has started */
    int report; /* of step/report.h; -1: none */
    const struct berth_hostcommand *hostcommand;
};

/* A watcher's answer to berth-init: it traces the servers, or nothing may run. */
enum { BERTH_WATCHER_READY, BERTH_WATCHER_REFUSES };

/* Start a watcher for the runtime that the calling process will become. If that ends
 * before berth-init has started, or takes longer than the rendezvous allows, the
 * watcher also says so. Returns the descriptor by which berth-init reaches it, which
 * stays open through exec; -1 with a sentence in ERR. */
int berth_watcher_start(const struct berth_watcher *what, struct berth_err *err);
