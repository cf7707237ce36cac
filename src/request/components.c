/* SPDX-License-Identifier: Apache-2.0 */
/* The table of components: adds rows, finds the row of a component or rank, and counts
 * containers and ranks. Knows neither Slurm's calls nor the source of the numbers. */

#include "request/components.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "request/ranks.h"

/* The container of TABLE in which REQUEST runs; -1: there is none yet. */
static int find_same_container(const struct berth_table *table,
                               const struct berth_request *request)
{
    for (unsigned int i = 0; i < table->containers; i++) {
        const struct berth_row *first = &table->rows[table->first_rows[i]];

        if (berth_request_same_container(&first->request, request))
            return (int)i;
    }
    return -1;
}

/* Sets the container of the last row of TABLE. */
static int number_container(struct berth_table *table, struct berth_err *err)
{
    struct berth_row *row = &table->rows[table->count - 1];

    row->container = -1;
    if (!row->ranks || !berth_request_has_container(&row->request))
        return 0;
    row->container = find_same_container(table, &row->request);
    if (row->container >= 0)
        return 0;

    if (table->containers == BERTH_CONTAINERS_MAX)
        return berth_err_set(err,
                             "the lines need more than %d different containers; let "
                             "more of them have the same options",
                             BERTH_CONTAINERS_MAX);
    row->container = (int)table->containers;
    table->first_rows[table->containers] = table->count - 1;
    table->containers++;
    return 0;
}

int berth_table_add(struct berth_table *table, int group, const char *ranks,
                    struct berth_request *request, struct berth_err *err)
{
    BERTH_FREE char *copy = NULL;
    struct berth_row *rows;

    if (ranks) {
        copy = strdup(ranks);
        if (!copy)
            return berth_err_oom(err);
    }
    rows = realloc(table->rows, (table->count + 1) * sizeof(*rows));
    if (!rows)
        return berth_err_oom(err);
    table->rows = rows;
    rows[table->count] = (struct berth_row){
        .group = group, .ranks = copy, .container = -1, .request = *request};
    table->count++;
    if (number_container(table, err) < 0) {
        table->count--;
        return -1;
    }
    copy = NULL; /* the row has it, and the request */
    *request = (struct berth_request){0};
    return 0;
}

/* The row with ranks whose request equals REQUEST; NULL: there is none. */
static struct berth_row *row_to_extend(struct berth_table *table,
                                       const struct berth_request *request)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].ranks &&
            berth_request_equal(&table->rows[i].request, request))
            return &table->rows[i];
    return NULL;
}

int berth_table_add_line(struct berth_table *table, const char *ranks,
                         struct berth_request *request, struct berth_err *err)
{
    struct berth_row *row = NULL;
    char *longer;

    if (!berth_ranks_is_rest(ranks))
        row = row_to_extend(table, request);
    if (!row)
        return berth_table_add(table, BERTH_GROUP_ALL, ranks, request, err);
    if (asprintf(&longer, "%s,%s", row->ranks, ranks) < 0)
        return berth_err_oom(err);
    free(row->ranks);
    row->ranks = longer;
    berth_request_fini(request); /* the row has an equal one */
    return 0;
}

bool berth_table_is_multiprog(const struct berth_table *table)
{
    return table->count > 0 && table->rows[0].ranks;
}

bool berth_table_is_uniform(const struct berth_table *table)
{
    for (size_t i = 1; i < table->count; i++)
        if (!berth_request_equal(&table->rows[0].request, &table->rows[i].request) ||
            !berth_strvec_equal(&table->rows[0].restore, &table->rows[i].restore) ||
            table->rows[0].is_one_file != table->rows[i].is_one_file)
            return false;
    return true;
}

/* The form in which a row asks to be explained; NULL: none does. */
static const char *find_form(const struct berth_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (berth_request_is_explained(&table->rows[i].request))
            return table->rows[i].request.explain;
    return NULL;
}

int berth_table_explain(struct berth_table *table, struct berth_err *err)
{
    const char *form = find_form(table);

    if (!form)
        return 0;
    for (size_t i = 0; i < table->count; i++) {
        struct berth_request *request = &table->rows[i].request;

        if (berth_request_is_explained(request))
            continue;
        if (berth_request_put(request, BERTH_OPTION_EXPLAIN, form, err) < 0)
            return -1;
    }
    return 0;
}

const struct berth_row *berth_table_find_container(const struct berth_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (berth_request_has_container(&table->rows[i].request))
            return &table->rows[i];
    return NULL;
}

static const struct berth_row *row_of_group(const struct berth_table *table, int group)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].group == group)
            return &table->rows[i];
    return NULL;
}

/* Slurm numbers the components of a het step in the order of their groups. */
static const struct berth_row *row_at_position(const struct berth_table *table,
                                               int position)
{
    int found = 0;

    for (int group = 0; group <= BERTH_GROUP_MAX; group++) {
        const struct berth_row *row = row_of_group(table, group);

        if (!row)
            continue;
        if (found == position)
            return row;
        found++;
    }
    return NULL;
}

bool berth_table_has_groups(const struct berth_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].group < 0 && !table->rows[i].ranks)
            return false;
    return true;
}

/* The row of RANK; NULL: no line has RANK. */
static const struct berth_row *row_of_rank(const struct berth_table *table,
                                           unsigned int rank)
{
    for (size_t i = 0; i < table->count; i++)
        if (berth_ranks_has(table->rows[i].ranks, rank, NULL))
            return &table->rows[i];
    return NULL;
}

int berth_where_component(const struct berth_where *where)
{
    if (where->position >= 0)
        return where->position;
    return where->group;
}

/* The row of a component, by its position or its group; NULL: there is none. */
static const struct berth_row *row_of_component(const struct berth_table *table,
                                                const struct berth_where *where)
{
    if (where->position >= 0)
        return row_at_position(table, where->position);
    return row_of_group(table, where->group);
}

int berth_table_find(const struct berth_table *table, const struct berth_where *where,
                     unsigned int rank, const struct berth_row **ret_row,
                     struct berth_err *err)
{
    const bool is_known = berth_where_component(where) >= 0;
    const struct berth_row *row;

    if (berth_table_is_multiprog(table)) {
        row = row_of_rank(table, rank);
        if (!row)
            return berth_err_damaged(err, "rank %u of no line", rank);
        *ret_row = row;
        return 0;
    }
    if (table->count == 1 && table->rows[0].group == BERTH_GROUP_ALL) {
        *ret_row = &table->rows[0];
        return 0;
    }

    if (!berth_table_has_groups(table) || !is_known)
        return berth_err_set(err,
                             "Slurm does not tell which component this is, and the "
                             "components differ; give them all the same container "
                             "options, or one srun each");
    row = row_of_component(table, where);
    if (!row)
        return berth_err_damaged(err, "component %d of %zu",
                                 berth_where_component(where), table->count);
    *ret_row = row;
    return 0;
}

const char *berth_table_lifetime(const struct berth_table *table)
{
    const char *lifetime = NULL;

    for (size_t i = 0; i < table->count; i++) {
        const struct berth_request *request = &table->rows[i].request;

        if (berth_request_has_job_lifetime(request))
            return BERTH_LIFETIME_JOB;
        if (berth_request_has_container(request) && request->lifetime)
            lifetime = BERTH_LIFETIME_STEP;
    }
    return lifetime;
}

/* The row with BERTH_RANKS_REST, the last, has the tasks that no other row has. */
unsigned int berth_table_tasks(const struct berth_table *table,
                               const struct berth_row *row, unsigned int tasks)
{
    unsigned int others = 0;

    if (!row->ranks)
        return tasks;
    if (!berth_ranks_is_rest(row->ranks))
        return berth_ranks_measure(row->ranks).count;
    for (size_t i = 0; i < table->count; i++) {
        const char *ranks = table->rows[i].ranks;

        if (!berth_ranks_is_rest(ranks))
            others += berth_ranks_measure(ranks).count;
    }
    if (tasks < others)
        return 0;
    return tasks - others;
}

int berth_table_container_ranks(const struct berth_table *table,
                                const struct berth_row *row, unsigned int tasks,
                                char **ret_ranks, unsigned int *ret_tasks,
                                struct berth_err *err)
{
    BERTH_BUF struct berth_buf ranks = {0};
    unsigned int count = 0;

    if (!row->ranks) {
        *ret_ranks = NULL;
        *ret_tasks = tasks;
        return 0;
    }
    for (size_t i = 0; i < table->count; i++) {
        const struct berth_row *other = &table->rows[i];

        if (other->container != row->container)
            continue;
        if (ranks.used > 0)
            berth_buf_puts(&ranks, ",");
        berth_buf_puts(&ranks, other->ranks);
        count += berth_table_tasks(table, other, tasks);
    }
    if (ranks.failed)
        return berth_err_oom(err);
    *ret_ranks = berth_steal(&ranks.text);
    *ret_tasks = count;
    return 0;
}

unsigned int berth_table_first_rank(const struct berth_table *table,
                                    const struct berth_row *row)
{
    const struct berth_row *other;
    unsigned int first = 0;

    if (!row->ranks)
        return 0;
    if (!berth_ranks_is_rest(row->ranks))
        return berth_ranks_measure(row->ranks).first;
    /* The rest begins with the first rank that no other row has. */
    other = row_of_rank(table, first);
    while (other != row) {
        first = berth_ranks_next_free(other->ranks, first);
        other = row_of_rank(table, first);
    }
    return first;
}

unsigned int berth_table_container_first_rank(const struct berth_table *table,
                                              const struct berth_row *row)
{
    const int container = row->container;
    unsigned int least = berth_table_first_rank(table, row);

    for (size_t i = 0; container >= 0 && i < table->count; i++) {
        unsigned int first;

        if (table->rows[i].container != container)
            continue;
        first = berth_table_first_rank(table, &table->rows[i]);
        if (first < least)
            least = first;
    }
    return least;
}

/* The --mpi-bind of ROW; "": unsaid, so that the site may set it. */
static const char *mode_of(const struct berth_row *row)
{
    return berth_text_or(row->request.mpi, "");
}

/* Is OTHER, a row of the same table, before ROW? */
static bool is_before(const struct berth_row *other, const struct berth_row *row)
{
    if (row->ranks) /* the groups of lines are all the same */
        return other < row;
    return other->group < row->group;
}

bool berth_table_reports(const struct berth_table *table, const struct berth_row *row)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct berth_row *other = &table->rows[i];
        bool has_same_mode = strcmp(mode_of(other), mode_of(row)) == 0;

        if (is_before(other, row) && has_same_mode &&
            berth_request_has_container(&other->request))
            return false;
    }
    return true;
}

void berth_table_fini(struct berth_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        free(table->rows[i].ranks);
        berth_request_fini(&table->rows[i].request);
        berth_strvec_fini(&table->rows[i].restore);
        berth_strvec_fini(&table->rows[i].job);
    }
    free(table->rows);
    *table = (struct berth_table){0};
}
