/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <slurm/spank.h>

#include "base/err.h"
#include "site/site.h"
#include "request/request.h"
#include "site/terms.h"

/* berth_apply_site() in the process that becomes the task, with the facts of its step.
 */
int berth_apply_site_step(spank_t sp, const struct berth_site *site,
                          const struct berth_request *request,
                          struct berth_request *ret, struct berth_terms *ret_terms,
                          struct berth_err *err);

/* Say which values of the user's REQUEST a rule of the site replaces. PREFIX is that of
 * the site's options. */
void berth_apply_site_report(spank_t sp, const struct berth_site *site,
                             const struct berth_request *request, const char *prefix);
