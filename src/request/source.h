/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/strvec.h"
#include "request/request.h"

/* The sources of a component's options, for an account: OWN, from the command line of
 * srun, wins over ENVIRONMENT, and that over the default of JOB. Appends to RET a
 * sentence for each option with one value that does not come from the command line
 * alone. Check RET's `failed`. */
void berth_source_list(const struct berth_request *own,
                       const struct berth_request *environment,
                       const struct berth_request *job, struct berth_strvec *ret);
