/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_SPANK_SETTLE_H
#define BERTH_SPANK_SETTLE_H

#include <slurm/spank.h>

#include "base/err.h"
#include "conf/site.h"
#include "plan/request.h"
#include "plan/terms.h"

/* In the process that becomes the task, as the user: what SITE makes of REQUEST. On
 * success the caller owns *RET, the request as it is to be run, and *RET_TERMS. Returns
 * 0, or -1 with a sentence in ERR that says why it must not run. */
int berth_settle(spank_t sp, const struct berth_site *site,
                 const struct berth_request *request, struct berth_request *ret,
                 struct berth_terms *ret_terms, struct berth_err *err);

#endif
