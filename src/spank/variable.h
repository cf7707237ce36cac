/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <slurm/spank.h>

#include "base/err.h"

/* In slurmstepd: take a variable that srun has published out of the task's environment.
 * Returns 0 with *RET_TEXT, which the caller frees, NULL when it is not there; -1 with
 * a sentence in ERR when it is longer than BERTH_WIRE_MAX, or cannot be read. */
int berth_variable_take(spank_t sp, const char *name, char **ret_text,
                        struct berth_err *err);
