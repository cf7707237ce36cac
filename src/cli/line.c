/* SPDX-License-Identifier: Apache-2.0 */
/* berth run --multi-prog: reads the file, and finds what this rank runs. */

#include "cli/line.h"

#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "diagnose/sitefind.h"
#include "task/standalone.h"
#include "policy/policy.h"
#include "probe/multiprogread.h"
#include "commandline/launcher.h"
#include "request/ranks.h"
#include "commandline/rows.h"

extern char **environ;

static int check(struct berth_request *request, unsigned long tasks,
                 struct berth_err *err)
{
    return berth_launcher_check_tasks(request, tasks, err);
}

/* Find the line of RANK. Slurm refuses a rank on two lines; a line with `*` is for the
 * ranks that no earlier line has. */
static int find_line(const struct berth_multiprog *file, unsigned int rank,
                     const struct berth_multiprog_line **ret, struct berth_err *err)
{
    const struct berth_multiprog_line *found = NULL;

    for (size_t i = 0; i < file->count; i++) {
        const struct berth_multiprog_line *line = &file->lines[i];

        if (!berth_ranks_has(line->ranks, rank, NULL) ||
            (found && berth_ranks_is_rest(line->ranks)))
            continue;
        if (found)
            return berth_err_set(err,
                                 "line %u: rank %u is on line %u, too; write it once, "
                                 "and * on the last line",
                                 line->number, rank, found->number);
        found = line;
    }
    if (!found)
        return berth_err_set(
            err, "no line has rank %u; write one, or start fewer ranks", rank);
    *ret = found;
    return 0;
}

/* Read the command of LINE without its options, and append the words APPENDED. */
static int read_command(const struct berth_multiprog_line *line, unsigned int rank,
                        char *const *appended, struct berth_cli_line *ret,
                        struct berth_err *err)
{
    if (berth_multiprog_command(line, rank, "", ret->settings.option_prefix,
                                &ret->command, err) < 0)
        return -1;
    for (; *appended; appended++)
        berth_strvec_push(&ret->command, *appended);
    return ret->command.failed ? berth_err_oom(err) : 0;
}

/* Check the lines together: their ranks share one MPI_COMM_WORLD. */
static int check_world(const struct berth_site *site,
                       const struct berth_request *defaults, struct berth_table *table,
                       struct berth_err *err)
{
    if (berth_rows_check(table, defaults, err) < 0 ||
        berth_table_explain(table, err) < 0 ||
        berth_launcher_check_table(table, berth_policy_may_set_mpi(site), err) < 0)
        return -1;
    berth_launcher_set_worlds(table);
    return 0;
}

static struct berth_order_step step_of(const struct berth_table *table,
                                       const struct berth_row *row, unsigned int rank)
{
    bool is_first = rank == berth_table_container_first_rank(table, row);

    return (struct berth_order_step){
        .ranks = row->ranks,
        .is_first = rank == berth_table_first_rank(table, row),
        .prints_component = is_first,
        .prints_step = is_first && berth_table_reports(table, row),
    };
}

/* Find the row of RANK, and its part in the step. */
static int find_row(unsigned int rank, struct berth_cli_line *ret,
                    struct berth_err *err)
{
    const struct berth_where anywhere = {-1, -1};
    const struct berth_row *row;

    if (berth_table_find(&ret->table, &anywhere, rank, &row, err) < 0)
        return -1;
    ret->row = &ret->table.rows[row - ret->table.rows];
    ret->step = step_of(&ret->table, row, rank);
    return 0;
}

int berth_cli_line_read(char *const *words, const struct berth_request *defaults,
                        const struct berth_site *site, struct berth_cli_line *ret,
                        struct berth_err *err)
{
    BERTH_FREE char *directory = getcwd(NULL, 0);
    struct berth_rows rows = {
        .name = words[0],
        .file = &ret->file,
        .reading = {.base = directory, .defaults = defaults},
        .check = check,
    };
    const struct berth_multiprog_line *line = NULL;
    unsigned int rank;

    if (berth_standalone_rank(&rank, &rows.tasks, err) < 0 ||
        berth_site_settings(environ, &ret->settings, err) < 0 ||
        berth_multiprog_load(words[0], &ret->file, err) < 0)
        return -1;
    rows.reading.prefix = ret->settings.option_prefix;
    if (find_line(&ret->file, rank, &line, err) < 0)
        return berth_err_at(err, "--multi-prog: '%s'", words[0]);
    if (berth_rows_read(&rows, &ret->table, err) < 0 ||
        check_world(site, defaults, &ret->table, err) < 0 ||
        find_row(rank, ret, err) < 0)
        return -1;
    return read_command(line, rank, words + 1, ret, err);
}

int berth_cli_line_programs(struct berth_cli_line *line,
                            const struct berth_request *request, struct berth_err *err)
{
    const struct berth_rows_part part = {&line->table, line->row,
                                         line->settings.option_prefix, ""};

    return berth_rows_programs(&line->file, &part, request, &line->programs, err);
}

void berth_cli_line_fini(struct berth_cli_line *line)
{
    berth_multiprog_fini(&line->file);
    berth_table_fini(&line->table);
    berth_settings_fini(&line->settings);
    berth_strvec_fini(&line->command);
    berth_strvec_fini(&line->programs);
}
