/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <slurm/spank.h>

#include "base/err.h"
#include "site/site.h"
#include "request/components.h"

/* In the process that becomes a task: remove BERTH_ENV_VARIABLE from the task's
 * environment. Set the variables that it has for the component at WHERE of STEP, except
 * those that the task has: what --export names, and what Slurm sets, wins. Append to
 * RESTORED, for each variable that was set, its name and the title of its list
 * (request/capture.h). Returns 1; 0 if --export has dropped nothing; -1 with a sentence
 * in ERR, also if SITE, this node's, does not capture one of the variables. */
int berth_restore(spank_t sp, const struct berth_site *site,
                  const struct berth_table *step, const struct berth_where *where,
                  struct berth_strvec *restored, struct berth_err *err);

/* Set TMPDIR to Slurm's default if the task does not have it: Slurm sets TMPDIR for one
 * task of a node only. Call this after the site's policy has been applied, which is
 * about the user's variables. Appends to RESTORED as above. */
int berth_restore_tmpdir(spank_t sp, struct berth_strvec *restored,
                         struct berth_err *err);

/* For a task in an image whose srun ran in a container: remove the variables that the
 * runtime of that container has set, which the runtime of the task would read as its
 * options (mounts, above all). */
void berth_restore_remove_outer(spank_t sp);

/* Remove BERTH_ALLOCATION_VARIABLE from the task's environment, and append the
 * variables that it has to RET. Returns 0, or -1 with a sentence in ERR. */
int berth_restore_allocation(spank_t sp, struct berth_strvec *ret,
                             struct berth_err *err);
