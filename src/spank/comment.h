/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "request/components.h"

/* In srun, as the user: set the comment of JOB to the images of TABLE, unless the job
 * has a comment: that is the user's (sbatch --comment) or an earlier step's. Only an
 * operator may set the other texts of a job (AdminComment). Prints with srun -v why
 * slurmctld refused. */
void berth_comment_set(uint32_t job, const struct berth_table *table);
