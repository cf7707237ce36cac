/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "site/site.h"
#include "request/components.h"

/* In srun: the variables that the tasks of a component need and Slurm is about to drop
 * (request/capture.h), and how they are sent to the nodes. */

/* Append the row of a component to TABLE: its `env` is what to restore. VALUE is that
 * of --export for it; NULL: not said. A component on the host, and one that gets all of
 * the environment, has an empty row. */
int berth_gather_component(const struct berth_site *site,
                           const struct berth_row *component, const char *value,
                           struct berth_table *table, struct berth_err *err);

/* Set BERTH_ENV_VARIABLE to TABLE, or take it away where there is nothing in it. */
int berth_gather_publish(const struct berth_table *table, struct berth_err *err);

/* Set BERTH_ALLOCATION_VARIABLE to what srun's environment says of the job, if a
 * component of TABLE starts an mpirun on the job's nodes; else take it away. */
int berth_gather_allocation(const struct berth_table *table, struct berth_err *err);

/* Say with `srun -v` what is sent, and why. */
void berth_gather_log(const struct berth_site *site, const struct berth_table *table);
