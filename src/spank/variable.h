/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include <slurm/spank.h>

#include "base/err.h"

/* The variables of spank/names.h, by which srun describes a step to the nodes. */

/* In srun: unset all of them, which may be those of an outer step. */
void berth_variable_unset_all(void);

/* In srun: set NAME to TEXT; NULL: unset it. Returns 0, or -1 when out of memory. */
int berth_variable_publish(const char *name, const char *text, struct berth_err *err);

/* In slurmstepd: does the task's environment have NAME? */
bool berth_variable_is_set(spank_t sp, const char *name);

/* In slurmstepd: remove all of them from the task's environment. */
void berth_variable_remove_all(spank_t sp);

/* In slurmstepd: remove NAME from the task's environment. Returns 0 with its value in
 * *RET_TEXT, which the caller frees (NULL: it was not set); -1 with a sentence in ERR
 * if the value is longer than BERTH_WIRE_MAX. */
int berth_variable_remove(spank_t sp, const char *name, char **ret_text,
                          struct berth_err *err);
