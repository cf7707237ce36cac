/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "site/rules.h"
#include "site/site.h"

/* A flag of the runtime, in --container-args or as a variable (APPTAINER_*), may do
 * what an option does. If a rule forbids the option in JOB (as for
 * berth_rules_refuse()), refuses such a flag in REQUEST, and in ENVIRONMENT (ended by
 * NULL; NULL: not known); if it forbids --container-args, each variable that is a flag.
 * Returns 0, or -1 with a sentence in ERR. */
int berth_detours_check(const struct berth_site *site,
                        const struct berth_rules_job *job,
                        const struct berth_request *request, char *const *environment,
                        struct berth_err *err);
