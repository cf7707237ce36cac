/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/site.h"
#include "request/request.h"

/* The rules of a site: options that it forces on some jobs. A value goes over the
 * user's. `no` of an option without a value is a refusal for a user who gives it. */

/* The job that the rules are asked about; borrows. */
struct berth_rules_job {
    const char *partition; /* NULL: not known */
    const char *account;   /* the same */
};

/* Append to FAULTS a sentence for each value of a rule that cannot be. Ask for its
 * `failed`. */
void berth_rules_faults(const struct berth_site *site, struct berth_strvec *faults);

/* What the rules force on JOB; a later rule goes over an earlier one. On success the
 * caller owns *RET. */
int berth_rules_apply(const struct berth_site *site, const struct berth_rules_job *job,
                      struct berth_request *ret, struct berth_err *err);

/* Does a rule of the site give the option ID to any job? */
bool berth_rules_have(const struct berth_site *site, enum berth_option_id id);

/* Refuses a REQUEST with an option that the rules forbid to JOB; NULL: to every job,
 * since this one is not known yet. */
int berth_rules_refuse(const struct berth_site *site, const struct berth_rules_job *job,
                       const struct berth_request *request, struct berth_err *err);

/* Append to RET a sentence for each value of the user's REQUEST that a rule replaces in
 * JOB, except of lists. Ask for its `failed`. */
void berth_rules_report(const struct berth_site *site,
                        const struct berth_rules_job *job,
                        const struct berth_request *request, struct berth_strvec *ret);
