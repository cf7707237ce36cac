/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the lines of a --multi-prog file to a table, and lists the programs that share a
 * container. */

#include "request/rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "request/ranks.h"

/* Lines with equal requests share a row, unless the step explains each line, or the
 * line starts an mpirun, which is for one task. */
static int read_line(const struct berth_rows *rows,
                     const struct berth_multiprog_line *line, struct berth_table *table,
                     struct berth_err *err)
{
    unsigned long tasks =
        berth_ranks_is_rest(line->ranks) ? 0 : berth_ranks_measure(line->ranks).count;
    BERTH_REQUEST struct berth_request request = {0};
    bool is_alone;

    if (berth_multiprog_request(line, &rows->reading, &request, err) < 0 ||
        rows->check(&request, tasks, err) < 0)
        return -1;
    is_alone = berth_request_is_explained(rows->reading.defaults) ||
               berth_request_starts_mpirun(&request);
    return is_alone
               ? berth_table_add(table, BERTH_GROUP_ALL, line->ranks, &request, err)
               : berth_table_add_line(table, line->ranks, &request, err);
}

int berth_rows_read(const struct berth_rows *rows, struct berth_table *table,
                    struct berth_err *err)
{
    const struct berth_multiprog *file = rows->file;

    for (size_t i = 0; i < file->count; i++) {
        const struct berth_multiprog_line *line = &file->lines[i];

        if (read_line(rows, line, table, err) < 0)
            return berth_err_at(err, "--multi-prog: '%s': line %u", rows->name,
                                line->number);
        if (berth_ranks_is_rest(line->ranks))
            break; /* no rank is left for a later line */
    }
    return 0;
}

/* Appends the program of LINE if its first rank runs in the container of PART. */
static int add_program(const struct berth_multiprog *file,
                       const struct berth_multiprog_line *line,
                       const struct berth_rows_part *part, struct berth_strvec *ret,
                       struct berth_err *err)
{
    const struct berth_where anywhere = {-1, -1};
    const unsigned int rank = berth_multiprog_first(file, line);
    BERTH_FREE char *program = NULL;
    const struct berth_row *row;

    if (berth_table_find(part->table, &anywhere, rank, &row, NULL) < 0 ||
        row->container != part->row->container)
        return 0;
    if (berth_multiprog_program(line, rank, part->prefix, &program, err) < 0)
        return berth_err_at(err, "line %u", line->number);
    berth_strvec_push_once(ret, program);
    return 0;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int berth_rows_programs(const struct berth_multiprog *file,
                        const struct berth_rows_part *part,
                        const struct berth_request *request, struct berth_strvec *ret,
                        struct berth_err *err)
{
    if (!berth_request_looks_inside(request) || request->entrypoint == BERTH_YES)
        return 0;
    for (size_t i = 0; i < file->count; i++)
        if (add_program(file, &file->lines[i], part, ret, err) < 0)
            return -1;
    if (ret->failed)
        return berth_err_oom(err);
    if (ret->count < 2)
        berth_strvec_fini(ret);
    else
        qsort(ret->items, ret->count, sizeof(*ret->items), compare);
    return 0;
}
