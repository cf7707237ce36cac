/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include <slurm/spank.h>

#include "base/err.h"
#include "plan/order.h"
#include "request/components.h"
#include "request/multiprog.h"

/* The part of a step that a task belongs to: its component, or the lines of a
 * --multi-prog file with its request. Borrows everything. */
struct berth_taskfacts {
    const struct berth_table *table;
    const struct berth_row *row; /* the row of the task */
    struct berth_where where;    /* the component of the task */
    uint32_t rank;               /* the rank of the task in its component */
    const struct berth_multiprog
        *lines;      /* if the row has ranks: berth_taskfacts_lines() */
    bool has_record; /* the site keeps records */
};

/* The argv of the step, of *RET_COUNT arguments; 0 if Slurm does not have it. With
 * --multi-prog the second one is the text of the file. Slurm owns them. */
char **berth_taskfacts_argv(spank_t sp, int *ret_count);

/* The program of the task: argv[0], or the word of its --multi-prog line after our
 * options, which have the site's PREFIX; "" if Slurm does not have it. *RET_TASKS is
 * the number of tasks of the whole step that run it; 0: not known. Returns 0, and the
 * caller frees *RET_PROGRAM; or -1 with a sentence in ERR. */
int berth_taskfacts_program(spank_t sp, const struct berth_taskfacts *part,
                            const char *prefix, char **ret_program, uint32_t *ret_tasks,
                            struct berth_err *err);

/* The number of tasks of the whole step with the row of PART; 0: not known. */
uint32_t berth_taskfacts_tasks(spank_t sp, const struct berth_taskfacts *part);

/* What an order says about the step, for REQUEST as the site lets it run. The result
 * borrows from PART. */
struct berth_order_step berth_taskfacts_step(spank_t sp,
                                             const struct berth_taskfacts *part,
                                             const struct berth_request *request);

/* What an order says about the task's container on this node. Returns 0, and the caller
 * frees `ranks` and `locals` of *RET; or -1 when out of memory. */
int berth_taskfacts_container(spank_t sp, const struct berth_taskfacts *part,
                              struct berth_order_container *ret, struct berth_err *err);

/* Read the lines of the step's --multi-prog file. Returns 0, and the caller owns *RET
 * (berth_multiprog_fini()); or -1 with a sentence in ERR. */
int berth_taskfacts_lines(spank_t sp, struct berth_multiprog *ret,
                          struct berth_err *err);
