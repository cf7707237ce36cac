/* SPDX-License-Identifier: Apache-2.0 */
/* berth ps: lists the containers that run, on all nodes of the user's jobs or on this
 * node. */

#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/squeue.h"

/* The first and the last of the columns that are right-aligned, besides that of JOB. */
enum { COLUMNS = 10, TASKS = 5, ID = 8 };

/* The cells of a line, most of which are texts of its own. */
struct row {
    const char *cells[COLUMNS];
    char job[16], step[32], since[32], tasks[16], memory[32], cpu[32], id[16];
};

/* The step, and the component of one with several; "job" for a container that the job
 * keeps while no task is in it. */
static void write_step(const struct berth_container *item, char *ret, size_t size)
{
    if (item->step >= 0 && item->component >= 0)
        snprintf(ret, size, "%d+%d", item->step, item->component);
    else if (item->step >= 0)
        snprintf(ret, size, "%d", item->step);
    else if (item->tasks == 0)
        snprintf(ret, size, "job");
}

static void write_time(unsigned int when, char *ret, size_t size)
{
    time_t seconds = (time_t)when;
    struct tm local;

    localtime_r(&seconds, &local);
    strftime(ret, size, "%Y-%m-%dT%H:%M:%S", &local);
}

/* Write ITEM into ROW; what is not known is "-". */
static void make_row(const struct berth_container *item, struct row *row)
{
    const char *options = *item->options ? item->options : "-";

    *row = (struct row){
        .cells = {row->job, row->step, item->node, item->image, row->since, row->tasks,
                  row->memory, row->cpu, row->id, options},
        .job = "-",
        .step = "-",
        .memory = "-",
        .cpu = "-",
    };
    if (item->job > 0)
        snprintf(row->job, sizeof(row->job), "%u", item->job);
    write_step(item, row->step, sizeof(row->step));
    write_time(item->since, row->since, sizeof(row->since));
    snprintf(row->tasks, sizeof(row->tasks), "%u", item->tasks);
    snprintf(row->id, sizeof(row->id), "%d", item->holder);
    if (item->memory >= 0)
        snprintf(row->memory, sizeof(row->memory), "%.1fM", item->memory / 1024.0);
    if (item->cpu >= 0)
        snprintf(row->cpu, sizeof(row->cpu), "%.2fs", item->cpu / 1000.0);
}

static void measure(const struct row *row, int widths[])
{
    for (int at = 0; at < COLUMNS; at++) {
        int width = (int)strlen(row->cells[at]);

        if (width > widths[at])
            widths[at] = width;
    }
}

static void put_line(const struct row *row, const int widths[], struct berth_json *json)
{
    BERTH_BUF struct berth_buf line = {0};

    for (int at = 0; at < COLUMNS; at++) {
        bool is_number = at == 0 || (at >= TASKS && at <= ID);
        bool is_last = at + 1 == COLUMNS;

        if (is_last)
            berth_buf_puts(&line, row->cells[at]);
        else if (is_number)
            berth_buf_addf(&line, "%*s  ", widths[at], row->cells[at]);
        else
            berth_buf_addf(&line, "%-*s  ", widths[at], row->cells[at]);
    }
    berth_json_linef(json, "%s", line.text ? line.text : "");
    json->text.failed |= line.failed;
}

static void put_item(const struct berth_container *item, const struct row *row,
                     struct berth_json *json)
{
    berth_json_object(json, NULL);
    berth_json_number(json, "job", item->job ? (int)item->job : -1);
    berth_json_number(json, "step", item->step);
    berth_json_number(json, "component", item->component);
    berth_json_string(json, "node", item->node);
    berth_json_string(json, "image", item->image);
    berth_json_string(json, "since", row->since);
    berth_json_number(json, "tasks", item->tasks);
    berth_json_number(json, "first_rank", item->rank);
    berth_json_number(json, "server_kib", item->memory);
    berth_json_number(json, "server_cpu_ms", item->cpu);
    berth_json_number(json, "id", item->holder);
    berth_json_string(json, "options", item->options);
    berth_json_end(json);
}

int berth_containers_print(const struct berth_containers *found, bool is_json,
                           FILE *stream)
{
    const struct row heads = {.cells = {"JOB", "STEP", "NODE", "IMAGE", "SINCE",
                                        "TASKS", "RSS", "CPU", "ID", "OPTIONS"}};
    BERTH_JSON struct berth_json json = {.pretty = true, .is_text = !is_json};
    int widths[COLUMNS] = {0};
    struct row row;

    measure(&heads, widths);
    for (size_t i = 0; i < found->count; i++) {
        make_row(&found->items[i], &row);
        measure(&row, widths);
    }
    berth_json_array(&json, NULL);
    put_line(&heads, widths, &json);
    for (size_t i = 0; i < found->count; i++) {
        make_row(&found->items[i], &row);
        put_line(&row, widths, &json);
        put_item(&found->items[i], &row, &json);
    }
    berth_json_end(&json);
    if (json.text.failed)
        return berth_cli_fail_oom();
    fputs(json.text.text, stream);
    if (is_json)
        fputs("\n", stream);
    return EXIT_SUCCESS;
}

/* Run the part on the node, with the arguments ARGV of berth_ask_containers(): the job,
 * its number and a rank. */
static int print_lines(char **argv)
{
    const struct berth_find wanted = {
        .user = getuid(),
        .job = (unsigned int)strtoul(argv[0], NULL, 10),
        .number = (unsigned int)strtoul(argv[1], NULL, 10),
        .rank = atoi(argv[2]),
    };
    BERTH_CONTAINERS struct berth_containers found = {0};
    BERTH_BUF struct berth_buf lines = {0};
    struct berth_err err;

    if (berth_find_containers(&wanted, &found, &err) < 0)
        return berth_cli_fail(&err);
    for (size_t i = 0; i < found.count; i++)
        berth_container_put(&found.items[i], &lines);
    if (lines.failed)
        return berth_cli_fail_oom();
    printf("%s", lines.text ? lines.text : "");
    return EXIT_SUCCESS;
}

/* Become the user NAME, so that what the user's processes have in their environment is
 * read with the rights of that user, and not of root. */
static int become_user(const char *name, struct berth_err *err)
{
    const struct passwd *user = getpwnam(name);

    if (!user)
        return berth_err_set(err, "ps: -u: '%s' is not a user of this host", name);
    if (user->pw_uid == getuid())
        return 0;
    if (initgroups(name, user->pw_gid) < 0 ||
        setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
        setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0)
        return berth_err_set(err,
                             "ps: -u: only root sees containers of '%s', on the "
                             "node where they are",
                             name);
    return 0;
}

static int list(bool is_json, const char *user, const char *job)
{
    BERTH_CONTAINERS struct berth_containers found = {0};
    BERTH_FREE char *srun = berth_ask_srun();
    struct berth_find here = {.rank = -1};
    struct berth_err err;
    uid_t caller = getuid();
    int result, printed;

    if (user && become_user(user, &err) < 0)
        return berth_cli_fail(&err);
    here.user = getuid();
    if (job) {
        here.job = (unsigned int)strtoul(job, NULL, 10);
        here.number = here.job;
    }
    if (srun && here.user == caller)
        result = berth_ask_containers(job, -1, &found, &err);
    else
        result = berth_find_containers(&here, &found, &err);
    if (result < 0)
        berth_cli_fail(&err);
    if (result < 0 && found.count == 0)
        return BERTH_CLI_FAILED;

    /* A node that fails does not hide the containers of others. */
    berth_containers_sort(&found);
    printed = berth_containers_print(&found, is_json, stdout);
    return result < 0 ? BERTH_CLI_FAILED : printed;
}

static bool is_job_number(const char *text)
{
    return *text >= '1' && *text <= '9';
}

int berth_cli_ps(int argc, char **argv)
{
    const char *user = NULL;
    const char *job = NULL;
    bool is_json = false;

    if (argc == 5 && strcmp(argv[1], BERTH_ASK_NODE) == 0)
        return print_lines(argv + 2);
    for (char **at = argv + 1; *at; at++) {
        if (strcmp(*at, "--json") == 0 && !job) {
            is_json = true;
        } else if (strcmp(*at, "-u") == 0 && at[1] && !job) {
            at++;
            user = *at;
        } else if (is_job_number(*at) && !job) {
            job = *at;
        } else {
            return BERTH_CLI_USAGE;
        }
    }
    return list(is_json, user, job);
}
