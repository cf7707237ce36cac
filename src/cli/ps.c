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

/* Write ITEM into ROW; what is not known is "-". */
static void make_row(const struct berth_container *item, struct row *row)
{
    time_t began = (time_t)item->since;
    struct tm local;

    *row = (struct row){
        .cells = {row->job, row->step, item->node, item->image, row->since, row->tasks,
                  row->memory, row->cpu, row->id, *item->options ? item->options : "-"},
        .job = "-",
        .step = "-",
        .memory = "-",
        .cpu = "-",
    };
    if (item->job)
        snprintf(row->job, sizeof(row->job), "%u", item->job);
    if (item->step >= 0 && item->component >= 0)
        snprintf(row->step, sizeof(row->step), "%d+%d", item->step, item->component);
    else if (item->step >= 0)
        snprintf(row->step, sizeof(row->step), "%d", item->step);
    else if (!item->tasks)
        snprintf(row->step, sizeof(row->step), "job");
    localtime_r(&began, &local);
    strftime(row->since, sizeof(row->since), "%Y-%m-%dT%H:%M:%S", &local);
    snprintf(row->tasks, sizeof(row->tasks), "%u", item->tasks);
    snprintf(row->id, sizeof(row->id), "%d", item->holder);
    if (item->memory >= 0)
        snprintf(row->memory, sizeof(row->memory), "%.1fM", item->memory / 1024.0);
    if (item->cpu >= 0)
        snprintf(row->cpu, sizeof(row->cpu), "%.2fs", item->cpu / 1000.0);
}

static void measure(const struct row *row, int widths[])
{
    for (int at = 0; at < COLUMNS; at++)
        if ((int)strlen(row->cells[at]) > widths[at])
            widths[at] = (int)strlen(row->cells[at]);
}

static void put_line(const struct row *row, const int widths[], struct berth_json *json)
{
    BERTH_BUF struct berth_buf line = {0};

    for (int at = 0; at < COLUMNS; at++) {
        bool is_number = at == 0 || (at >= TASKS && at <= ID);

        if (at + 1 == COLUMNS)
            berth_buf_puts(&line, row->cells[at]);
        else
            berth_buf_addf(&line, "%*s  ", is_number ? widths[at] : -widths[at],
                           row->cells[at]);
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
    fprintf(stream, "%s%s", json.text.text, is_json ? "\n" : "");
    return EXIT_SUCCESS;
}

/* Run the part on the node, with WORDS of berth_ask_containers(). */
static int print_lines(char **words)
{
    const struct berth_find wanted = {
        .user = getuid(),
        .job = (unsigned int)strtoul(words[0], NULL, 10),
        .number = (unsigned int)strtoul(words[1], NULL, 10),
        .rank = atoi(words[2]),
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
    if (user->pw_uid != getuid() &&
        (initgroups(name, user->pw_gid) < 0 ||
         setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
         setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0))
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
    uid_t self = getuid();
    int result;

    if (user && become_user(user, &err) < 0)
        return berth_cli_fail(&err);
    here.user = getuid();
    if (job)
        here.job = here.number = (unsigned int)strtoul(job, NULL, 10);
    if (srun && here.user == self)
        result = berth_ask_containers(job, -1, &found, &err);
    else
        result = berth_find_containers(&here, &found, &err);
    if (result < 0)
        berth_cli_fail(&err);
    if (result < 0 && found.count == 0)
        return BERTH_CLI_FAILED;
    berth_containers_sort(&found);
    return berth_containers_print(&found, is_json, stdout) |
           (result < 0 ? BERTH_CLI_FAILED : EXIT_SUCCESS);
}

int berth_cli_ps(int argc, char **argv)
{
    bool is_json = false;
    const char *user = NULL;
    int at = 1;

    if (argc == 5 && strcmp(argv[1], BERTH_ASK_WORD) == 0)
        return print_lines(argv + 2);
    for (; at < argc && *argv[at] == '-'; at++)
        if (strcmp(argv[at], "--json") == 0)
            is_json = true;
        else if (strcmp(argv[at], "-u") == 0 && at + 1 < argc)
            user = argv[++at];
        else
            return BERTH_CLI_USAGE;
    if (argc > at + 1 || (at < argc && (*argv[at] < '1' || *argv[at] > '9')))
        return BERTH_CLI_USAGE;
    return list(is_json, user, argv[at]);
}
