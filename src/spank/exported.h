/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "site/site.h"
#include "request/components.h"
#include "request/capture.h"

/* In srun: collects the variables that the tasks of a component need although --export
 * drops them (request/capture.h). */

/* Append to RET the variables of a component with an image, whose --export is EXPORT;
 * none if --export drops nothing. Returns 0, or -1 out of memory. */
int berth_exported_gather(const struct berth_site *site,
                          const struct berth_export *export, struct berth_strvec *ret,
                          struct berth_err *err);

/* Print with `srun -v` which variables are sent, and the list that each is on. */
void berth_exported_log(const struct berth_site *site, const struct berth_table *table);
