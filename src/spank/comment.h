/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "request/components.h"

/* In srun, as the user: make the images of TABLE the comment of JOB, unless it has one;
 * that is the user's (sbatch --comment) or an earlier step's. Only an operator may set
 * a job's other texts (AdminComment). Says with srun -v why it could not. */
void berth_comment_set(uint32_t job, const struct berth_table *table);
