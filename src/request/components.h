/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_REQUEST_COMPONENTS_H
#define BERTH_REQUEST_COMPONENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "request/request.h"

/* Slurm has one value of each SPANK option for a whole srun, so what each component of
 * `srun A : B` asked for is kept here, a row for each, and published as a whole; every
 * node then finds the row of the component that it runs. */

enum {
    BERTH_GROUP_ALL = -1,     /* the row is every component's */
    BERTH_GROUP_UNKNOWN = -2, /* could not be read from the command line */
    BERTH_GROUP_MAX = 127     /* MAX_HET_JOB_COMPONENTS - 1 in Slurm */
};

struct berth_row {
    int group; /* the het group that Slurm gives the component, or one of the above */
    struct berth_request request;
};

struct berth_table {
    struct berth_row *rows;
    size_t count;
};

/* Which component a node runs; Slurm tells it in one of two ways. */
struct berth_where {
    int group;    /* het job: the het group of this job id; -1: not one */
    int position; /* het step in one allocation: step_het_comp; -1: not one */
};

/* Append a row, which the table owns from now on. Returns 0; -1 when out of memory, and
 * then REQUEST is still the caller's. */
int berth_table_add(struct berth_table *table, int group,
                    const struct berth_request *request, struct berth_err *err);

/* Are all rows the same? Then no node needs to know its row. */
bool berth_table_uniform(const struct berth_table *table);

/* Is the group of every row known? */
bool berth_table_known(const struct berth_table *table);

/* One component that is to be explained makes the whole step explained: none of its
 * applications runs. Returns 0, or -1 when out of memory. */
int berth_table_explain(struct berth_table *table, struct berth_err *err);

/* Does any component run in a container? */
bool berth_table_contained(const struct berth_table *table);

/* The row of the component at WHERE. Never a guess: -1 with a sentence in ERR when it
 * cannot be known. *RET_ROW points into TABLE. */
int berth_table_find(const struct berth_table *table, const struct berth_where *where,
                     const struct berth_row **ret_row, struct berth_err *err);

void berth_table_fini(struct berth_table *table);

#define BERTH_TABLE __attribute__((cleanup(berth_table_fini)))

#endif
