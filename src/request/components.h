/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "request/request.h"

/* The requests of all components of a step. Slurm has one value of each SPANK option
 * for a whole srun. So berth sends a table to the nodes with one row for each component
 * of `srun A : B`, and each node finds the row of the component that it runs.
 *
 * A step with --multi-prog is one component (srun refuses several, _het_grp_test() in
 * its srun_job.c). Its table has a row for each different request in the file. */

enum {
    BERTH_GROUP_ALL = -1,     /* the row is for every component */
    BERTH_GROUP_UNKNOWN = -2, /* the command line did not tell the group */
    BERTH_GROUP_MAX = 127     /* MAX_HET_JOB_COMPONENTS - 1 in Slurm */
};

struct berth_row {
    int group; /* the component's het group in Slurm, or one of the above */
    char *
        ranks; /* with --multi-prog the ranks of the row (request/ranks.h); else NULL */
    int container; /* number of its container in the step, from 0; -1: no container, or
                      no ranks */
    struct berth_request request;
    struct berth_strvec restore; /* variables, NAME=VALUE, that its tasks need although
                                    --export drops them (request/capture.h) */
    struct berth_strvec job; /* with --mpi-bind=launch: Slurm's about the job, in srun
                              */
    bool is_one_file;        /* standard output and error of its tasks are one file
                                (request/streams.h) */
};

/* The most containers of a step with --multi-prog. */
enum { BERTH_CONTAINERS_MAX = 64 };

struct berth_table {
    struct berth_row *rows;
    size_t count;
    unsigned int containers; /* of rows with ranks, how many; they share one where
                                berth_request_same_container() allows that */
    size_t first_rows[BERTH_CONTAINERS_MAX]; /* the first row of each container */
};

/* Which component a node runs. Slurm gives one of the two numbers. */
struct berth_where {
    int group;    /* in a het job: the het group of the job id; else -1 */
    int position; /* in a het step of one allocation: step_het_comp; else -1 */
};

/* The number of the component, its position or its group; -1: the step has one only. */
int berth_where_component(const struct berth_where *where);

/* Appends a row with a copy of RANKS (may be NULL). On success TABLE owns what REQUEST
 * points to, and REQUEST is empty. Returns -1 out of memory, or with a sentence in ERR
 * for more than BERTH_CONTAINERS_MAX containers. */
int berth_table_add(struct berth_table *table, int group, const char *ranks,
                    struct berth_request *request, struct berth_err *err);

/* The same for a line of a --multi-prog file: if a row has an equal request, RANKS are
 * added to that row. */
int berth_table_add_line(struct berth_table *table, const char *ranks,
                         struct berth_request *request, struct berth_err *err);

/* Do the rows of TABLE come from a --multi-prog file? */
bool berth_table_is_multiprog(const struct berth_table *table);

/* Are all rows equal, but for their groups? Then a node need not know its row. */
bool berth_table_is_uniform(const struct berth_table *table);

/* Is the group of each row known? Rows with ranks need none. */
bool berth_table_has_groups(const struct berth_table *table);

/* If a row asks for --container-explain, all rows get the option: a step that explains
 * one component runs none. */
int berth_table_explain(struct berth_table *table, struct berth_err *err);

/* The first row with a container; NULL: there is none. */
const struct berth_row *berth_table_find_container(const struct berth_table *table);

/* Finds the row of the component WHERE, or with --multi-prog of RANK. *RET_ROW points
 * into TABLE. Returns -1 with a sentence in ERR if the row is not certain. */
int berth_table_find(const struct berth_table *table, const struct berth_where *where,
                     unsigned int rank, const struct berth_row **ret_row,
                     struct berth_err *err);

/* The --container-lifetime of the rows with a container: `job` if a row has that, else
 * `step` if a row has that, else NULL. */
const char *berth_table_lifetime(const struct berth_table *table);

/* The ranks of all rows in the container of ROW, and in *RET_TASKS how many of the
 * TASKS of the step they are. If ROW has no ranks, *RET_RANKS is NULL and *RET_TASKS is
 * TASKS. The caller frees *RET_RANKS. Returns -1 out of memory. */
int berth_table_container_ranks(const struct berth_table *table,
                                const struct berth_row *row, unsigned int tasks,
                                char **ret_ranks, unsigned int *ret_tasks,
                                struct berth_err *err);

/* How many of the TASKS of the step ROW is for. */
unsigned int berth_table_tasks(const struct berth_table *table,
                               const struct berth_row *row, unsigned int tasks);

/* The first rank of ROW, and of all rows in its container. */
unsigned int berth_table_first_rank(const struct berth_table *table,
                                    const struct berth_row *row);
unsigned int berth_table_container_first_rank(const struct berth_table *table,
                                              const struct berth_row *row);

/* Does the component of ROW, a row of TABLE, report which MPI berth has chosen? Of the
 * components with a container and the same --mpi-bind, the first reports for all. With
 * one row for all components: yes. */
bool berth_table_reports(const struct berth_table *table, const struct berth_row *row);

/* Frees the rows and their requests. */
void berth_table_fini(struct berth_table *table);

#define BERTH_TABLE __attribute__((cleanup(berth_table_fini)))
