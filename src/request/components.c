/* SPDX-License-Identifier: Apache-2.0 */
/* The table of components: which row is whose. Knows neither Slurm's calls nor where
 * the numbers come from. */

#include "request/components.h"

#include <stdlib.h>
#include <string.h>

int berth_table_add(struct berth_table *table, int group,
                    const struct berth_request *request, struct berth_err *err)
{
    struct berth_row *rows;

    rows = realloc(table->rows, (table->count + 1) * sizeof(*rows));
    if (!rows)
        return berth_err_oom(err);
    table->rows = rows;
    rows[table->count].group = group;
    rows[table->count].request = *request;
    table->count++;
    return 0;
}

bool berth_table_uniform(const struct berth_table *table)
{
    for (size_t i = 1; i < table->count; i++)
        if (!berth_request_equal(&table->rows[0].request, &table->rows[i].request))
            return false;
    return true;
}

int berth_table_explain(struct berth_table *table, struct berth_err *err)
{
    const char *form = NULL;

    for (size_t i = 0; i < table->count && !form; i++)
        if (berth_request_explained(&table->rows[i].request))
            form = table->rows[i].request.explain;
    for (size_t i = 0; form && i < table->count; i++) {
        struct berth_request *request = &table->rows[i].request;

        if (berth_request_explained(request))
            continue;
        if (berth_request_put(request, BERTH_OPTION_EXPLAIN, form, err) < 0)
            return -1;
    }
    return 0;
}

bool berth_table_contained(const struct berth_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (berth_request_contained(&table->rows[i].request))
            return true;
    return false;
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
    for (int group = 0; group <= BERTH_GROUP_MAX; group++) {
        const struct berth_row *row = row_of_group(table, group);

        if (row && position-- == 0)
            return row;
    }
    return NULL;
}

bool berth_table_known(const struct berth_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].group < 0)
            return false;
    return true;
}

int berth_table_find(const struct berth_table *table, const struct berth_where *where,
                     const struct berth_row **ret_row, struct berth_err *err)
{
    const struct berth_row *row = NULL;

    if (table->count == 1 && table->rows[0].group == BERTH_GROUP_ALL) {
        *ret_row = &table->rows[0];
        return 0;
    }
    if (!berth_table_known(table))
        return berth_err_set(err, "cannot tell which component this is, and the "
                                  "components differ; give them all the same "
                                  "--container options, or one srun each");
    if (where->position < 0 && where->group < 0)
        return berth_err_set(err,
                             "Slurm does not tell which component this is, and the "
                             "components differ; give them all the same --container "
                             "options, or one srun each");
    if (where->position >= 0)
        row = row_at_position(table, where->position);
    else if (where->group >= 0)
        row = row_of_group(table, where->group);
    if (!row)
        return berth_err_set(err,
                             "this is component %d, which srun did not announce (it "
                             "announced %zu); use the plugin of one berth release on "
                             "every host",
                             where->position >= 0 ? where->position : where->group,
                             table->count);
    *ret_row = row;
    return 0;
}

void berth_table_fini(struct berth_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        berth_request_fini(&table->rows[i].request);
    free(table->rows);
    *table = (struct berth_table){0};
}
