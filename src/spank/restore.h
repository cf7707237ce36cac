/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <slurm/spank.h>

#include "base/err.h"
#include "site/site.h"
#include "request/components.h"

/* In the process that becomes a task: take srun's BERTH_ENV_VARIABLE out of the task's
 * environment and, for the component at WHERE of STEP, set what it holds and the task
 * does not have (so that what --export names, and what Slurm sets, wins). Only what
 * this node's SITE captures too is set. RESTORED gets the name of each variable that
 * was set, and the title of the list that it is on (request/capture.h). Returns 1; 0
 * when
 * --export has dropped nothing; -1 with a sentence in ERR. */
int berth_restore(spank_t sp, const struct berth_site *site,
                  const struct berth_table *step, const struct berth_where *where,
                  struct berth_strvec *restored, struct berth_err *err);

/* The same for TMPDIR, which Slurm sets for one task of a node only. It is not the
 * user's variable: call this after the site has decided about the user's. */
int berth_restore_tmpdir(spank_t sp, struct berth_strvec *restored,
                         struct berth_err *err);

/* For a task in an image, of an srun that runs in a container itself: removes the
 * variables that the outer container's runtime has set, because the inner one would
 * take them for requests (mounts, above all). */
void berth_restore_remove_outer(spank_t sp);

/* Take srun's BERTH_ALLOCATION_VARIABLE out of the task's environment: *RET gets what
 * it says of the job. */
int berth_restore_allocation(spank_t sp, struct berth_strvec *ret,
                             struct berth_err *err);
