/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "plan/launch.h"

/* --container-save: an image of the container of a step, made when its last task has
 * ended. */

/* Before the container starts: can its image be written to the file? The step must have
 * one node, and the file must not be there. Returns 0, or -1 with a sentence in ERR. */
int berth_saver_check(const struct berth_launch *launch, struct berth_err *err);

/* Start a child that saves the container of process HOLDER, and prints on the
 * descriptor TO what it has written, or why not; its exit status is 0 if it has. TO is
 * closed in it. Returns its number, or -1 with errno. */
pid_t berth_saver_start(const struct berth_launch *launch, pid_t holder, int to);

/* The words by which the child calls `berth`: berth save BERTH_SAVER_WORD HOLDER FILE
 * NODE JOB IMAGE. */
#define BERTH_SAVER_WORD  "--of-step"
#define BERTH_SAVER_WORDS 5
