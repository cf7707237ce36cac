/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_SPANK_SETTLE_H
#define BERTH_SPANK_SETTLE_H

#include <slurm/spank.h>

#include "base/err.h"
#include "site/site.h"
#include "request/request.h"
#include "site/terms.h"

/* berth_settle() in the process that becomes the task, with the facts of its step. */
int berth_settle_step(spank_t sp, const struct berth_site *site,
                      const struct berth_request *request, struct berth_request *ret,
                      struct berth_terms *ret_terms, struct berth_err *err);

#endif
