/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/strvec.h"
#include "request/request.h"

/* Reports where the options of a component come from. OWN is the command line of srun,
 * ENVIRONMENT its variables, JOB what sbatch or salloc was given; an earlier one wins.
 * Appends to RET a sentence for each option with one value, unless only the command
 * line sets the option. The caller checks RET's `failed`. */
void berth_source_list(const struct berth_request *own,
                       const struct berth_request *environment,
                       const struct berth_request *job, struct berth_strvec *ret);
