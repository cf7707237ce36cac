/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_PLAN_SOURCE_H
#define BERTH_PLAN_SOURCE_H

#include "base/strvec.h"
#include "plan/request.h"

/* Where the options of a component of srun come from, for who asks for an account: OWN,
 * what its command line says, goes over ENVIRONMENT, and that over the default of JOB.
 * Appends a sentence for each option with one value that was said elsewhere than on the
 * command line. Ask for RET's `failed`. */
void berth_source_tell(const struct berth_request *own,
                       const struct berth_request *environment,
                       const struct berth_request *job, struct berth_strvec *ret);

#endif
