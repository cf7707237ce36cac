/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "step/stageroot.h"

/* Removes stages that nobody needs any more. A step holds a shared lock on the roots
 * that its container mounts, and a stage is removed under an exclusive lock. So a stage
 * in use stays, even if the host's MPI has changed. */

/* A stage in the making, or one to be removed; who makes it holds a lock on it. */
#define BERTH_STAGE_UNFINISHED ".new-"

/* Locks the stages of ROOT, open at ROOT_FD, until that descriptor is closed here and
 * in the process that it comes from. Before, at most once a day and for ROOT's owner
 * alone, berth_expire(). */
void berth_expire_lock(const struct berth_stage_root *root, int root_fd);

/* Remove the stages of ROOT that are of no use: what the host has now is not what they
 * are made of, or no step has used them for ROOT's number of days. If a step uses the
 * root, nothing is removed. */
void berth_expire(const struct berth_stage_root *root);

/* Remove what killed makers (a day ago), and killed removers, have left in the root
 * open at ROOT_FD. */
void berth_expire_unfinished(int root_fd);
