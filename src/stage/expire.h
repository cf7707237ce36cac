/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "step/stageroot.h"

/* Removes stages that no step needs. A step has a shared lock on the roots that its
 * container mounts, and a stage is removed under an exclusive lock. So a stage in use
 * stays, even if the host's MPI has changed. No function reports an error: what cannot
 * be removed stays. */

/* The start of the name of a stage that is being made, on which its maker has a lock,
 * or removed. */
#define BERTH_STAGE_UNFINISHED ".new-"

/* Takes the shared lock on ROOT, open at ROOT_FD, until all copies of this descriptor
 * are closed. First, at most once a day and only for ROOT's owner, berth_expire(). */
void berth_expire_lock(const struct berth_stage_root *root, int root_fd);

/* Removes the stages of ROOT that are out of date because the host's MPI has changed,
 * and those that no step has used for ROOT's number of days. Removes none while a step
 * has the lock. */
void berth_expire(const struct berth_stage_root *root);

/* Removes from the root open at ROOT_FD what makers that were killed at least a day
 * ago, and killed removers, have left. */
void berth_expire_unfinished(int root_fd);
