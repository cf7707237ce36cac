/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "request/components.h"
#include "request/multiprog.h"
#include "request/request.h"

/* From a --multi-prog file to the rows of a table (request/components.h). Borrows
 * everything. */
struct berth_rows {
    const char *name; /* of the file, for messages */
    const struct berth_multiprog *file;
    struct berth_multiprog_reading reading;

    /* Checks that TASKS tasks (0: not known) may have REQUEST, and may change REQUEST
     * before it is added to the table. Returns 0, or -1 with a sentence in ERR. */
    int (*check)(struct berth_request *request, unsigned long tasks,
                 struct berth_err *err);
};

/* Appends the requests of the lines to TABLE. Returns 0, or -1 with a sentence in ERR
 * that names the file and the line. */
int berth_rows_read(const struct berth_rows *rows, struct berth_table *table,
                    struct berth_err *err);

/* The row of a task, and how the words of its line are read. Borrows everything. */
struct berth_rows_part {
    const struct berth_table *table;
    const struct berth_row *row; /* in `table` */
    const char *prefix;          /* the site's, of our options */
};

/* Appends to RET the programs of all lines of FILE (no lines: the step has no
 * --multi-prog) that run in the container of PART, sorted and each once. With
 * --mpi-bind of REQUEST each rank judges all of them, so that all ranks decide alike.
 * Appends nothing for fewer than two programs, and if REQUEST chooses no MPI or uses
 * the entry point. Returns 0, or -1 with a sentence in ERR. */
int berth_rows_programs(const struct berth_multiprog *file,
                        const struct berth_rows_part *part,
                        const struct berth_request *request, struct berth_strvec *ret,
                        struct berth_err *err);
