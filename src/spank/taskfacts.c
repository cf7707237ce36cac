/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out what an order says about a task's step and container: the component or the
 * --multi-prog lines, and the tasks and containers on the node. */

#include "spank/taskfacts.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "request/multiprog.h"
#include "request/ranks.h"
#include "spank/variable.h"

char **berth_taskfacts_argv(spank_t sp, int *ret_count)
{
    char **argv = NULL;

    *ret_count = 0;
    if (spank_get_item(sp, S_JOB_ARGV, ret_count, &argv) != ESPANK_SUCCESS || !argv)
        *ret_count = 0;
    return argv;
}

int berth_taskfacts_lines(spank_t sp, struct berth_multiprog *ret,
                          struct berth_err *err)
{
    int argc;
    char **argv = berth_taskfacts_argv(sp, &argc);

    if (argc < 2)
        return berth_err_set(err, BERTH_VARIABLE_UNANSWERED,
                             "the --multi-prog configuration");
    return berth_multiprog_read(argv[1], ret, err);
}

/* Does the step have several tasks, in all components? */
static bool has_several_tasks(spank_t sp)
{
    char count[16] = "1";

    spank_getenv(sp, "SLURM_NTASKS", count, sizeof(count));
    return atoi(count) > 1;
}

/* Does RANK run on this node? */
static bool is_here(spank_t sp, unsigned int rank)
{
    uint32_t local;

    return spank_get_item(sp, S_JOB_GLOBAL_TO_LOCAL_ID, rank, &local) == ESPANK_SUCCESS;
}

/* Is this the first node of the component, or of the container of a --multi-prog line?
 */
static bool is_first_node(spank_t sp, const struct berth_taskfacts *part)
{
    uint32_t node = 0;

    if (part->row->ranks)
        return is_here(sp, berth_table_container_first_rank(part->table, part->row));
    return spank_get_item(sp, S_JOB_NODEID, &node) == ESPANK_SUCCESS && node == 0;
}

/* May a task with REQUEST have something to print? */
static bool has_notices(spank_t sp, const struct berth_taskfacts *part,
                        const struct berth_request *request)
{
    if (berth_request_looks_inside(request) || berth_request_is_explained(request))
        return true;
    if (!request->mpi && has_several_tasks(sp)) /* of an mpirun in each task */
        return true;
    return part->has_record;
}

/* Does this node print for all tasks of PART, because one of them has notices? */
static bool prints_component(spank_t sp, const struct berth_taskfacts *part,
                             const struct berth_request *request)
{
    return has_notices(sp, part, request) && is_first_node(sp, part);
}

/* Does this node, the first of PART, print for the whole step, too? SLURM_NODEID counts
 * the nodes of all components. */
static bool prints_step(spank_t sp, const struct berth_taskfacts *part)
{
    char node[16] = "0";

    if (part->row->group == BERTH_GROUP_ALL && !part->row->ranks)
        spank_getenv(sp, "SLURM_NODEID", node, sizeof(node));
    return strcmp(node, "0") == 0 && berth_table_reports(part->table, part->row);
}

/* The number of tasks of this component; 0: not known. */
static uint32_t count_tasks(spank_t sp)
{
    uint32_t count = 0;

    if (spank_get_item(sp, S_JOB_TOTAL_TASK_COUNT, &count) != ESPANK_SUCCESS)
        return 0;
    return count;
}

struct berth_order_step berth_taskfacts_step(spank_t sp,
                                             const struct berth_taskfacts *part,
                                             const struct berth_request *request)
{
    const struct berth_table *table = part->table;
    const struct berth_row *row = part->row;
    const int component = berth_where_component(&part->where);
    bool differs = table->count > 1 || table->rows[0].group == BERTH_GROUP_ALL;
    struct berth_order_step step = {
        .tasks = berth_table_tasks(table, row, count_tasks(sp)),
        .ranks = row->ranks,
        .is_first = row->ranks && part->rank == berth_table_first_rank(table, row),
        .prints_component = prints_component(sp, part, request),
        .is_one_file = row->is_one_file};

    step.prints_step = step.prints_component && prints_step(sp, part);
    spank_get_item(sp, S_JOB_NNODES, &step.nodes);
    if (component < 0)
        return step;
    step.component = component;
    step.is_several = differs && !row->ranks;
    return step;
}

/* The row of the task LOCAL of this node; NULL: not known. */
static const struct berth_row *
row_of_task(spank_t sp, const struct berth_taskfacts *part, uint32_t local)
{
    const struct berth_row *row;
    uint32_t rank;

    if (spank_get_item(sp, S_JOB_LOCAL_TO_GLOBAL_ID, local, &rank) != ESPANK_SUCCESS)
        return NULL;
    if (berth_table_find(part->table, &part->where, rank, &row, NULL) < 0)
        return NULL;
    return row;
}

/* Append the local id of a task to the list LOCALS, of which it is the first or not. */
static void add_local(uint32_t local, bool is_first, struct berth_buf *locals)
{
    if (!is_first)
        berth_buf_puts(locals, ",");
    berth_buf_addf(locals, "%u", local);
}

/* Count, on this node, the TASKS in the container of a --multi-prog line, outside of
 * containers, and the other containers. Append the local ids of the first to LOCALS. */
static struct berth_order_container count_container(spank_t sp,
                                                    const struct berth_taskfacts *part,
                                                    uint32_t tasks,
                                                    struct berth_buf *locals)
{
    /* those of the tasks are looked at when each starts its container */
    static char *const no_variables[] = {NULL};
    const int ours = part->row->container;
    bool is_counted[BERTH_CONTAINERS_MAX] = {false};
    struct berth_order_container container = {0};

    if (ours >= 0)
        container.number = (unsigned int)ours;
    for (uint32_t local = 0; local < tasks; local++) {
        const struct berth_row *row = row_of_task(sp, part, local);
        int number;

        if (!row)
            continue;
        number = row->container; /* -1: on the host */
        if (number < 0)
            container.hosts++;
        else if (berth_request_is_separate(&row->request, no_variables))
            container.has_spaces = true;

        if (number == ours) {
            add_local(local, container.tasks == 0, locals);
            container.tasks++;
            continue;
        }
        if (number < 0 || number >= BERTH_CONTAINERS_MAX || is_counted[number])
            continue;
        is_counted[number] = true;
        container.others++;
    }
    return container;
}

int berth_taskfacts_container(spank_t sp, const struct berth_taskfacts *part,
                              struct berth_order_container *ret, struct berth_err *err)
{
    BERTH_BUF struct berth_buf locals = {0};
    uint32_t tasks = 0;

    spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &tasks);
    *ret = (struct berth_order_container){.tasks = tasks};
    if (!part->row->ranks)
        return 0;
    *ret = count_container(sp, part, tasks, &locals);
    if (!berth_request_has_container(&part->row->request))
        return 0;
    if (locals.failed)
        return berth_err_oom(err);
    if (ret->tasks < tasks)
        ret->locals = berth_steal(&locals.text);
    if (!part->has_record)
        return 0;
    return berth_table_container_ranks(part->table, part->row, count_tasks(sp),
                                       &ret->ranks, &ret->all, err);
}

uint32_t berth_taskfacts_tasks(spank_t sp, const struct berth_taskfacts *part)
{
    return berth_table_tasks(part->table, part->row, count_tasks(sp));
}

/* The line of FILE for RANK; NULL: it has none. */
static const struct berth_multiprog_line *
line_of_rank(const struct berth_multiprog *file, unsigned int rank)
{
    for (size_t i = 0; i < file->count; i++)
        if (berth_ranks_has(file->items[i].ranks, rank, NULL))
            return &file->items[i];
    return NULL;
}

static int copy_name(const char *name, char **ret, struct berth_err *err)
{
    *ret = strdup(name);
    return berth_err_oom_if(!*ret, err);
}

int berth_taskfacts_program(spank_t sp, const struct berth_taskfacts *part,
                            const char *prefix, char **ret_program, uint32_t *ret_tasks,
                            struct berth_err *err)
{
    const struct berth_multiprog_line *line;
    int argc;
    char **argv = berth_taskfacts_argv(sp, &argc);

    *ret_tasks = berth_taskfacts_tasks(sp, part);
    if (!part->row->ranks) {
        if (argc < 1)
            return copy_name("", ret_program, err);
        return copy_name(argv[0], ret_program, err);
    }

    line = line_of_rank(part->lines, part->rank);
    if (!line)
        return copy_name("", ret_program, err);
    if (!berth_ranks_is_rest(line->ranks))
        *ret_tasks = berth_ranks_measure(line->ranks).count;
    return berth_multiprog_program(line, part->rank, prefix, ret_program, err);
}
