/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the lines of a --multi-prog file to a table, and lists the programs that share a
 * container. */

#include "request/rows.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "request/ranks.h"

/* The most ranks of a line with %t or %o in an option: the line is parsed for each
 * rank. */
enum { RANKS_MAX = 4096 };

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

/* Adds the request of the line for RANK as that of RANKS, which are TASKS tasks (0: not
 * known). */
static int read_rank(const struct reading *reading, unsigned int rank,
                     const char *ranks, unsigned long tasks, struct berth_err *err)
{
    const struct berth_rows *rows = reading->rows;
    BERTH_REQUEST struct berth_request request = {0};

    if (berth_multiprog_request(reading->line, rank, &rows->reading, &request, err) <
            0 ||
        rows->check(&request, tasks, err) < 0 ||
        add_row(reading, ranks, &request, err) < 0)
        return -1;
    request = (struct berth_request){0};
    return 0;
}

/* Does an earlier line have RANK? */
static bool is_on_earlier_line(const struct reading *reading, unsigned int rank)
{
    const struct berth_multiprog_line *line = reading->rows->file->lines;

    for (; line < reading->line; line++)
        if (berth_ranks_has(line->ranks, rank, NULL))
            return true;
    return false;
}

/* Adds a request for each rank of the line. */
static int read_each_rank(const struct reading *reading, struct berth_err *err)
{
    const char *ranks = reading->line->ranks;
    unsigned int end = berth_ranks_is_rest(reading->line->ranks)
                           ? reading->rows->tasks
                           : berth_ranks_measure(ranks).last + 1;

    if (end == 0)
        return berth_err_set(err, "%%t or %%o in an option of '*': say how many tasks "
                                  "there are (srun -n), or write their ranks");
    if (end > RANKS_MAX)
        return berth_err_set(
            err, "%%t or %%o in an option: only for the first %d ranks", RANKS_MAX);
    for (unsigned int rank = 0; rank < end; rank++) {
        char one[16];

        if (!berth_ranks_has(ranks, rank, NULL) ||
            (berth_ranks_is_rest(reading->line->ranks) &&
             is_on_earlier_line(reading, rank)))
            continue;
        snprintf(one, sizeof(one), "%u", rank);
        if (read_rank(reading, rank, one, 1, err) < 0)
            return -1;
    }
    return 0;
}

static int read_line(const struct reading *reading, struct berth_err *err)
{
    const char *ranks = reading->line->ranks;

    if (berth_multiprog_differs(reading->line, reading->rows->reading.prefix))
        return read_each_rank(reading, err);
    if (berth_ranks_is_rest(reading->line->ranks))
        return read_rank(reading, 0, ranks, 0, err);
    return read_rank(reading, berth_ranks_measure(ranks).first, ranks,
                     berth_ranks_measure(ranks).count, err);
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
