/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "request/request.h"

/* Slurm has one value of each SPANK option for a whole srun, so what each component of
 * `srun A : B` asked for is kept here, a row for each, and published as a whole; every
 * node then finds the row of the component that it runs.
 *
 * A step with --multi-prog is one component (srun refuses several, _het_grp_test() in
 * its srun_job.c), and has a row for each request in its file. */

enum {
    BERTH_GROUP_ALL = -1,     /* the row is every component's */
    BERTH_GROUP_UNKNOWN = -2, /* could not be read from the command line */
    BERTH_GROUP_MAX = 127     /* MAX_HET_JOB_COMPONENTS - 1 in Slurm */
};

struct berth_row {
    int group;   /* the het group that Slurm gives the component, or one of the above */
    char *ranks; /* with --multi-prog: whose the row is (request/ranks.h); NULL: all */
    int container; /* which of the step's it runs in, from 0; -1: it has none */
    struct berth_request request;
};

/* The most containers of a step with --multi-prog. */
enum { BERTH_CONTAINERS_MAX = 64 };

struct berth_table {
    struct berth_row *rows;
    size_t count;
    unsigned int containers;                 /* of rows with ranks */
    size_t first_rows[BERTH_CONTAINERS_MAX]; /* of each */
};

/* Which component a node runs; Slurm tells it in one of two ways. */
struct berth_where {
    int group;    /* het job: the het group of this job id; -1: not one */
    int position; /* het step in one allocation: step_het_comp; -1: not one */
};

/* Append a row, which the table owns from now on; RANKS (may be NULL) is copied.
 * Returns 0; -1 when out of memory, and then REQUEST is still the caller's. */
int berth_table_add(struct berth_table *table, int group, const char *ranks,
                    const struct berth_request *request, struct berth_err *err);

/* The same for a line of --multi-prog: a row with an equal request gets its RANKS. */
int berth_table_add_line(struct berth_table *table, const char *ranks,
                         const struct berth_request *request, struct berth_err *err);

/* Are the rows those of a --multi-prog file? */
bool berth_table_is_multiprog(const struct berth_table *table);

/* Are all rows the same? Then no node needs to know its row. */
bool berth_table_is_uniform(const struct berth_table *table);

/* Is the group of every row known? */
bool berth_table_has_groups(const struct berth_table *table);

/* One component that is to be explained makes the whole step explained: none of its
 * applications runs. */
int berth_table_explain(struct berth_table *table, struct berth_err *err);

/* The first row with a container; NULL: none has one. */
const struct berth_row *berth_table_find_container(const struct berth_table *table);

/* The row of the component at WHERE, and of its RANK. Never a guess: -1 with a sentence
 * in ERR when it cannot be known. *RET_ROW points into TABLE. */
int berth_table_find(const struct berth_table *table, const struct berth_where *where,
                     unsigned int rank, const struct berth_row **ret_row,
                     struct berth_err *err);

/* How many containers the rows of TABLE need; at least 1. Rows with ranks run in as few
 * as their requests allow: only the working directory, the variables and the entry
 * point are a task's own, and with --mpi-bind not where they decide which program a
 * word is. */
unsigned int berth_table_containers(const struct berth_table *table);

/* What the rows with a container say of --container-lifetime: `job` where one of them
 * does, else `step` where one does; NULL: nothing. */
const char *berth_table_lifetime(const struct berth_table *table);

/* The ranks of all rows with the container of ROW, which has one, and how many of
 * TASKS, the number of all, these are. Without ranks: NULL. Returns 0, and the caller
 * frees *RET_RANKS; or -1 when out of memory. */
int berth_table_container_ranks(const struct berth_table *table,
                                const struct berth_row *row, unsigned int tasks,
                                char **ret_ranks, unsigned int *ret_tasks,
                                struct berth_err *err);

/* How many of TASKS, the number of all, are those of ROW. */
unsigned int berth_table_tasks(const struct berth_table *table,
                               const struct berth_row *row, unsigned int tasks);

/* The first rank of ROW, and of its container. */
unsigned int berth_table_first_rank(const struct berth_table *table,
                                    const struct berth_row *row);
unsigned int berth_table_container_first_rank(const struct berth_table *table,
                                              const struct berth_row *row);

/* Does the component of ROW, in TABLE, say for the whole step what berth has chosen?
 * The first one in a container does, of those with the same --mpi-bind. Where all share
 * a row, TABLE does not know: yes. */
bool berth_table_reports(const struct berth_table *table, const struct berth_row *row);

void berth_table_fini(struct berth_table *table);

#define BERTH_TABLE __attribute__((cleanup(berth_table_fini)))
