/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* The ranks of a line of a --multi-prog file (srun(1), MULTIPLE PROGRAM CONFIGURATION):
 * numbers and ranges separated by commas, or BERTH_RANKS_REST for all ranks that no
 * line before has. Except for berth_ranks_check(), RANKS has this form. */

#define BERTH_RANKS_REST "*"

/* Is RANKS BERTH_RANKS_REST? */
bool berth_ranks_is_rest(const char *ranks);

/* Checks that TEXT has this form. */
int berth_ranks_check(const char *text, struct berth_err *err);

/* Is RANK in RANKS? Then *RET_OFFSET (may be NULL) is the number of ranks written
 * before RANK, which Slurm writes for %o. */
bool berth_ranks_has(const char *ranks, unsigned int rank, unsigned int *ret_offset);

/* The number of ranks, the least and the greatest of RANKS, which is not
 * BERTH_RANKS_REST. */
struct berth_ranks {
    unsigned int count, first, last;
};
struct berth_ranks berth_ranks_measure(const char *ranks);

/* The first rank from FROM on that is not in RANKS, which is not BERTH_RANKS_REST. */
unsigned int berth_ranks_next_free(const char *ranks, unsigned int from);
