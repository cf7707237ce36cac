/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/site.h"
#include "request/request.h"

/* The rules of a site: options of some jobs. The value of `force` replaces the user's,
 * which replaces that of `default`; an option of `forbid` is refused. */

/* The job to which rules apply. Borrows everything. */
struct berth_rules_job {
    const char *partition; /* NULL: not known */
    const char *account;   /* the same */
};

/* Reads the option NAME of KIND, which LINE of the file gives VALUE ("": without
 * value), into the last rule of SITE. Returns 0, or -1 with a sentence in ERR that
 * names the rule. */
int berth_rules_add(struct berth_site *site, enum berth_rule_kind kind,
                    const char *name, const char *value, unsigned int line,
                    struct berth_err *err);

/* Merges the options of KIND (not FORBID) of all rules for JOB into RET, which starts
 * as `{0}`; a later rule wins. The caller frees RET. Returns -1 out of memory. */
int berth_rules_apply(const struct berth_site *site, const struct berth_rules_job *job,
                      enum berth_rule_kind kind, struct berth_request *ret,
                      struct berth_err *err);

/* Does a rule of the site, for whichever job, have the option ID in KIND, with a value
 * that IS (NULL: any)? */
bool berth_rules_have(const struct berth_site *site, enum berth_rule_kind kind,
                      enum berth_option_id id, bool (*is)(const char *value));

/* The default of the option ID in jobs of any partition and account; NULL: none. */
const char *berth_rules_default(const struct berth_site *site, enum berth_option_id id);

/* Refuses a REQUEST with an option that a rule forbids in JOB. JOB NULL: not known yet;
 * then only options that a rule forbids in every job. */
int berth_rules_refuse(const struct berth_site *site, const struct berth_rules_job *job,
                       const struct berth_request *request, struct berth_err *err);

/* Appends to RET a sentence for each value of the user's REQUEST that a rule replaces
 * in JOB, except lists. The caller checks RET's `failed`. */
void berth_rules_report(const struct berth_site *site,
                        const struct berth_rules_job *job,
                        const struct berth_request *request, struct berth_strvec *ret);
