/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <slurm/spank.h>

#include "base/err.h"
#include "site/site.h"
#include "request/request.h"
#include "site/terms.h"

/* berth_apply_site() (step/apply.h) in the process that becomes the task: the job's
 * partition and account, and the task's environment, are those that Slurm gives. */
int berth_apply_site_step(spank_t sp, const struct berth_site *site,
                          const struct berth_request *request,
                          struct berth_request *ret, struct berth_terms *ret_terms,
                          struct berth_err *err);

/* Print a note on the task's standard error for each value of the user's REQUEST that a
 * rule of SITE replaces. PREFIX is the site's prefix of options. */
void berth_apply_site_report(spank_t sp, const struct berth_site *site,
                             const struct berth_request *request, const char *prefix);
