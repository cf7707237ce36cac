/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <slurm/spank.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/site.h"

/* In the process that becomes a task: set VARIABLES (`restore` of struct berth_row) in
 * the task's environment, except those that the task has: what --export names, and what
 * Slurm sets, wins. Append to RESTORED, for each variable that was set, its name and
 * the title of its list (request/capture.h). Returns 1; 0 if --export has dropped
 * nothing; -1 with a sentence in ERR, also if SITE, this node's, does not capture one
 * of the variables. */
int berth_restore(spank_t sp, const struct berth_site *site,
                  const struct berth_strvec *variables, struct berth_strvec *restored,
                  struct berth_err *err);

/* Set TMPDIR to Slurm's default if the task does not have it: Slurm sets TMPDIR for one
 * task of a node only. Call this after the site's policy has been applied, which is
 * about the user's variables. Appends to RESTORED as above. */
int berth_restore_tmpdir(spank_t sp, struct berth_strvec *restored,
                         struct berth_err *err);

/* For a task in an image whose srun ran in a container: remove the variables that the
 * runtime of that container has set, which the runtime of the task would read as its
 * options (mounts, above all). */
void berth_restore_remove_outer(spank_t sp);
