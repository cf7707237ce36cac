/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "plan/launch.h"

/* The directories of the node that tasks expect where the node has them, and that berth
 * mounts there without being asked: TMPDIR of the tasks, a working directory that the
 * runtime cannot open, and what Slurm's process manager shares with the tasks. The
 * batch script of the job, if it is the command. And the real place of a mount whose
 * place leads through a symbolic link of another mount. Of these only the script, and
 * with --mpi-bind what the process manager shares, where the container is closed
 * (--contain), and nothing that the site's mounts.forbidden or mounts.forced excludes.
 */

/* Append these to the `places` of LAUNCH, whose home is known. Returns 0, or -1 when
 * out of memory. */
int berth_places_find(struct berth_launch *launch, struct berth_err *err);

/* Has a container of LAUNCH the directory TMPDIR of its tasks: is it one that the
 * runtime or berth_places_find() mounts? No if TMPDIR is not set. */
bool berth_places_has_temporary(const struct berth_launch *launch);
