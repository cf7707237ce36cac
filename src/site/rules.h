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
    bool is_hidden; /* it is a component of a het job, and nothing tells which partition
                       and account that has */
};

/* The job of a task with ENVIRONMENT (ended by NULL), from which it borrows. GROUP is
 * the het group of the task's component, or -1.
 *
 * In a het job SLURM_JOB_PARTITION is that of the last component for all (srun sets it
 * for one component after the other in its own environment). The variables with
 * _HET_GROUP_k or _PACK_GROUP_k are those of each: sbatch and salloc set both, a srun
 * that makes the job the latter (_set_env_vars2() in its srun_job.c). A job without an
 * account has no variable for it. */
struct berth_rules_job berth_rules_job_of(char *const *environment, int group);

/* Refuses a task whose JOB is hidden if a rule of the site is for some jobs only. */
int berth_rules_check_job(const struct berth_site *site,
                          const struct berth_rules_job *job, struct berth_err *err);

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

/* The line of the first rule that forbids the option ID in JOB; 0: none. JOB NULL: not
 * known yet; then only a rule that forbids it in every job. */
unsigned int berth_rules_forbidden(const struct berth_site *site,
                                   const struct berth_rules_job *job,
                                   enum berth_option_id id);

/* Refuses a REQUEST with an option that a rule forbids in JOB. */
int berth_rules_refuse(const struct berth_site *site, const struct berth_rules_job *job,
                       const struct berth_request *request, struct berth_err *err);

/* Appends to RET a sentence for each value of the user's REQUEST that a rule replaces
 * in JOB, except lists. The caller checks RET's `failed`. */
void berth_rules_report(const struct berth_site *site,
                        const struct berth_rules_job *job,
                        const struct berth_request *request, struct berth_strvec *ret);
