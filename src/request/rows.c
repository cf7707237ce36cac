/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the lines of a --multi-prog file to a table, and lists the programs that share a
 * container. */

#include "request/rows.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "request/ranks.h"

/* The line that is read, and the table for its rows. */
struct reading {
    const struct berth_rows *rows;
    const struct berth_multiprog_line *line;
    struct berth_table *table;
};

/* Lines with equal requests share a row, unless the step explains each line, or the
 * line starts an mpirun, which is for one task. */
static int add_row(const struct reading *reading, const char *ranks,
                   const struct berth_request *request, struct berth_err *err)
{
    if (berth_request_is_explained(reading->rows->reading.defaults) ||
        berth_request_starts_mpirun(request))
        return berth_table_add(reading->table, BERTH_GROUP_ALL, ranks, request, err);
    return berth_table_add_line(reading->table, ranks, request, err);
}

static int read_line(const struct reading *reading, struct berth_err *err)
{
    const struct berth_rows *rows = reading->rows;
    const char *ranks = reading->line->ranks;
    unsigned long tasks =
        berth_ranks_is_rest(ranks) ? 0 : berth_ranks_measure(ranks).count;
    BERTH_REQUEST struct berth_request request = {0};

    if (berth_multiprog_request(reading->line, &rows->reading, &request, err) < 0 ||
        rows->check(&request, tasks, err) < 0 ||
        add_row(reading, ranks, &request, err) < 0)
        return -1;
    request = (struct berth_request){0};
    return 0;
}

int berth_rows_read(const struct berth_rows *rows, struct berth_table *table,
                    struct berth_err *err)
{
    const struct berth_multiprog *file = rows->file;
    struct reading reading = {rows, file->lines, table};
    bool is_more = true;

    for (; is_more && reading.line < file->lines + file->count; reading.line++) {
        if (read_line(&reading, err) < 0)
            return berth_err_at(err, "--multi-prog: '%s': line %u", rows->name,
                                reading.line->number);
        is_more = !berth_ranks_is_rest(
            reading.line->ranks); /* no rank is left for a later line */
    }
    return 0;
}

int berth_rows_check(const struct berth_table *table,
                     const struct berth_request *defaults, struct berth_err *err)
{
    if (berth_table_find_container(table))
        return 0;
    if (berth_request_has_container(defaults) && berth_request_is_explained(defaults))
        return berth_err_set(err, "--container-explain: no line of the --multi-prog "
                                  "file runs in an image; name an image");
    return berth_request_check(defaults, err);
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
    if (berth_multiprog_program(line, rank, part->in_front, part->prefix, &program,
                                err) < 0)
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
