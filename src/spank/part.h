/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include <slurm/spank.h>

#include "base/err.h"
#include "plan/order.h"
#include "request/components.h"

#define BERTH_TASK_PROGRAM BERTH_LIBEXECDIR "/berth-task"

/* A task in slurmstepd, and what the table of its step says. Borrows everything. */
struct berth_part {
    const struct berth_table *table;
    const struct berth_row *row; /* of the task */
    struct berth_where where;    /* its component */
    uint32_t rank;               /* in the component */
    bool has_record;             /* the site keeps records */
};

/* The argv of the step; *RET_COUNT is 0 where Slurm does not tell it. With --multi-prog
 * the second word is the text of the file. */
char **berth_part_argv(spank_t sp, int *ret_count);

/* The program of the task: of its line of a --multi-prog file, behind our options
 * (PREFIX: the site's); "" where Slurm does not tell. *RET_TASKS run it, in the whole
 * step; 0: not known. The caller frees *RET_PROGRAM. */
int berth_part_program(spank_t sp, const struct berth_part *part, const char *prefix,
                       char **ret_program, uint32_t *ret_tasks, struct berth_err *err);

/* How many tasks have the row of PART, in the whole step; 0: not known. */
uint32_t berth_part_tasks(spank_t sp, const struct berth_part *part);

/* Which part of the step it is, for REQUEST, which the site lets run. It borrows from
 * PART. */
struct berth_order_step berth_part_step(spank_t sp, const struct berth_part *part,
                                        const struct berth_request *request);

/* Its container, on this node. Returns 0, and the caller frees RET's texts; or -1 when
 * out of memory. */
int berth_part_container(spank_t sp, const struct berth_part *part,
                         struct berth_order_container *ret, struct berth_err *err);

/* With --multi-prog: appends to RET the programs of all tasks of the container, of
 * which each node looks at each; nothing where there is only one. PREFIX: the site's,
 * of our options. */
int berth_part_programs(spank_t sp, const struct berth_part *part,
                        const struct berth_request *request, const char *prefix,
                        struct berth_strvec *ret, struct berth_err *err);
