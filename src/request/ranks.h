/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* The ranks at the beginning of a line of a --multi-prog file (srun(1), MULTIPLE
 * PROGRAM CONFIGURATION): numbers and ranges with commas between them, or
 * BERTH_RANKS_REST for those that no other line has. */

#define BERTH_RANKS_REST "*"

/* Are they those that no other line has? */
bool berth_ranks_is_rest(const char *ranks);

/* Is TEXT of that form? */
int berth_ranks_check(const char *text, struct berth_err *err);

/* Is RANK in RANKS? *RET_OFFSET (may be NULL) is then how many are written before it,
 * which Slurm puts in the place of %o. */
bool berth_ranks_has(const char *ranks, unsigned int rank, unsigned int *ret_offset);

/* How many are in RANKS, which is not BERTH_RANKS_REST. */
unsigned int berth_ranks_count(const char *ranks);

/* The least of them, and the greatest. */
unsigned int berth_ranks_first(const char *ranks);
unsigned int berth_ranks_last(const char *ranks);

/* The first rank from FROM on that is not in RANKS, which is not BERTH_RANKS_REST. */
unsigned int berth_ranks_next_free(const char *ranks, unsigned int from);
