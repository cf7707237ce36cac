/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include <slurm/spank.h>

#include "base/err.h"
#include "site/plugstack.h"

/* The batch step of a job in slurmstepd: starts the script in the image of sbatch, if
 * sbatch or the site asks for that (--container-script); else tells at the end of the
 * script that nothing of the job has run in the image. */

/* Is this the slurmstepd of a batch step? */
bool berth_batch_is(spank_t sp);

/* Before the script is forked, as root: open what its end will need, if the job names
 * an image. Reads nothing of the user's. */
void berth_batch_open(spank_t sp);

/* Does the job keep the container of its script? As root, reads a few bytes of the
 * user's only. */
bool berth_batch_keeps(spank_t sp);

/* In the process that becomes the script, as the user: put berth-oci before the script
 * if it is to run in the image. SETTINGS are those of plugstack.conf; NULL: they have
 * an error. Returns 0, or -1 with a sentence in ERR. */
int berth_batch_task(spank_t sp, const struct berth_settings *settings,
                     struct berth_err *err);

/* The script has ended: did it run on the host, and did nothing of the job run in the
 * image that sbatch was given? */
bool berth_batch_is_missed(void);
