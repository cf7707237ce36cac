/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "request/components.h"
#include "commandline/multiprog.h"
#include "request/request.h"

/* From a --multi-prog file to the rows of a table (request/components.h), for srun and
 * `berth run`. Borrows everything. */
struct berth_rows {
    const char *name; /* of the file, for sentences */
    const struct berth_multiprog *file;
    struct berth_multiprog_reading reading;
    unsigned int tasks; /* of the step; 0: not known */

    /* May TASKS of the step (0: not known) do what REQUEST asks for? It may change that
     * before it goes into the table. */
    int (*check)(struct berth_request *request, unsigned long tasks,
                 struct berth_err *err);
};

/* Append to TABLE what the lines ask for. Returns 0, or -1 with a sentence in ERR,
 * which names the file and the line. */
int berth_rows_read(const struct berth_rows *rows, struct berth_table *table,
                    struct berth_err *err);

/* Check DEFAULTS, the options of the command line, where no line of TABLE runs in an
 * image. */
int berth_rows_check(const struct berth_table *table,
                     const struct berth_request *defaults, struct berth_err *err);

/* Of which line of the file a task is. */
struct berth_rows_part {
    const struct berth_table *table;
    const struct berth_row *row; /* in `table` */
    const char *prefix;          /* the site's, of our options */
    const char *in_front;        /* a word that may stand before them; "": none */
};

/* Append to RET the programs of all ranks of FILE that run in the container of PART,
 * sorted, where --mpi-bind=REQUEST has to judge each of them: the ranks are to decide
 * alike. Nothing where there are fewer than two. Returns 0, or -1 with a sentence. */
int berth_rows_programs(const struct berth_multiprog *file,
                        const struct berth_rows_part *part,
                        const struct berth_request *request, struct berth_strvec *ret,
                        struct berth_err *err);
