/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "request/components.h"
#include "request/hetgroup.h"

/* Carries the defaults of a heterogeneous job to its batch script. The script gets the
 * environment that sbatch has after the first component (main() of sbatch.c, in every
 * release from 22.05 to 26.05), when sbatch has not read the others. So sbatch executes
 * itself again when a component has other options than the one before it. What salloc
 * starts gets the environment that salloc has after the last component. */

/* Call before sbatch reads its script, which may be on standard input. Returns the
 * table of the last start, if there was one; the caller frees *RET. Returns 0, or -1
 * with a sentence in ERR if that table is damaged. */
int berth_resubmit_init(struct berth_table *ret, struct berth_err *err);

/* Executes sbatch again, with the arguments of LINE and TABLE. LINE and OPTIND are at
 * the current component (request/hetgroup.h). Returns only on failure: -1 with a
 * sentence in ERR. */
int berth_resubmit(const struct berth_hetgroups *line, int optind,
                   const struct berth_table *table, struct berth_err *err);
