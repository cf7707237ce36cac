/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/strvec.h"

/* The runtime makes the environment of a container once, AFTER, from one task's
 * environment, BEFORE (both ended by NULL). Append the difference to RET in the form of
 * putenv(3): each NAME=VALUE that it set or changed, and then each NAME that it
 * removed. In the environment of another task this leaves all other variables
 * (SLURM_PROCID, PMI_FD, ...) as they are. */
void berth_envdiff(char *const *before, char *const *after, struct berth_strvec *ret);
