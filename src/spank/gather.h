/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "site/site.h"
#include "request/components.h"
#include "request/export.h"

/* In srun: collects the variables that the tasks of a component need although --export
 * drops them (request/capture.h), and sends them to the nodes. */

/* Append a row for COMPONENT to TABLE. The `env` of the row has the variables to
 * restore; it is empty if the component runs on the host, or if --export drops nothing.
 * EXPORT is the component's --export. Returns -1 out of memory. */
int berth_gather_component(const struct berth_site *site,
                           const struct berth_row *component,
                           const struct berth_export *export, struct berth_table *table,
                           struct berth_err *err);

/* Set BERTH_ENV_VARIABLE to TABLE, or unset it if no row has variables. Returns 0, or
 * -1 with a sentence in ERR if the table is too long for a variable. */
int berth_gather_publish(const struct berth_table *table, struct berth_err *err);

/* Set BERTH_ALLOCATION_VARIABLE to Slurm's variables about the job, if a component of
 * TABLE starts an mpirun on the job's nodes (--mpi-bind=launch); else unset it. Returns
 * 0, or -1 with a sentence in ERR. */
int berth_gather_allocation(const struct berth_table *table, struct berth_err *err);

/* Print with `srun -v` which variables are sent, and the list that each is on. */
void berth_gather_log(const struct berth_site *site, const struct berth_table *table);
