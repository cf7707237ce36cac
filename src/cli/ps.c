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

/* A column of the output for people. */
struct column {
    const char *title;
    bool is_number; /* aligned to the right */

    /* Append the cell of CONTAINER to RET; nothing: it is not known. */
    void (*put)(const struct berth_container *container, struct berth_buf *ret);
};

static void put_job(const struct berth_container *container, struct berth_buf *ret)
{
    if (container->job > 0)
        berth_buf_addf(ret, "%u", container->job);
}

/* The step, and the component of one with several; "job" for a container that the job
 * keeps while no task is in it. */
static void put_step(const struct berth_container *container, struct berth_buf *ret)
{
    if (container->step >= 0)
        berth_buf_addf(ret, "%d", container->step);
    else if (container->tasks == 0)
        berth_buf_puts(ret, "job");
    if (container->step >= 0 && container->component >= 0)
        berth_buf_addf(ret, "+%d", container->component);
}

static void put_node(const struct berth_container *container, struct berth_buf *ret)
{
    berth_buf_puts(ret, container->node);
}

static void put_image(const struct berth_container *container, struct berth_buf *ret)
{
    berth_buf_puts(ret, container->image);
}

static void put_since(const struct berth_container *container, struct berth_buf *ret)
{
    const time_t since = (time_t)container->since;
    char text[32];
    struct tm local;

    localtime_r(&since, &local);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &local);
    berth_buf_puts(ret, text);
}

static void put_tasks(const struct berth_container *container, struct berth_buf *ret)
{
    berth_buf_addf(ret, "%u", container->tasks);
}

static void put_memory(const struct berth_container *container, struct berth_buf *ret)
{
    if (container->memory >= 0)
        berth_buf_addf(ret, "%.1fM", container->memory / 1024.0);
}

static void put_cpu(const struct berth_container *container, struct berth_buf *ret)
{
    if (container->cpu >= 0)
        berth_buf_addf(ret, "%.2fs", container->cpu / 1000.0);
}

static void put_id(const struct berth_container *container, struct berth_buf *ret)
{
    berth_buf_addf(ret, "%d", container->holder);
}

static void put_options(const struct berth_container *container, struct berth_buf *ret)
{
    berth_buf_puts(ret, container->options);
}

static const struct column columns[] = {
    {"JOB", true, put_job},      {"STEP", false, put_step},
    {"NODE", false, put_node},   {"IMAGE", false, put_image},
    {"SINCE", false, put_since}, {"TASKS", true, put_tasks},
    {"RSS", true, put_memory},   {"CPU", true, put_cpu},
    {"ID", true, put_id},        {"OPTIONS", false, put_options},
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static void add_titles(struct berth_strvec *cells)
{
    for (int at = 0; at < COLUMNS; at++)
        berth_strvec_push(cells, columns[at].title);
}

static void add_cells(const struct berth_container *container,
                      struct berth_strvec *cells)
{
    for (int at = 0; at < COLUMNS; at++) {
        BERTH_BUF struct berth_buf cell = {0};

        columns[at].put(container, &cell);
        berth_strvec_push(cells, cell.used ? cell.text : "-");
        cells->failed |= cell.failed;
    }
}

/* Set WIDTHS to that of the longest of CELLS in each column. */
static void measure(const struct berth_strvec *cells, int widths[COLUMNS])
{
    for (size_t i = 0; i < cells->count; i++) {
        int width = (int)strlen(cells->items[i]);
        int *widest = &widths[i % COLUMNS];

        if (width > *widest)
            *widest = width;
    }
}

/* Append a line with the COLUMNS strings at CELLS. */
static void put_line(char *const *cells, const int widths[COLUMNS],
                     struct berth_buf *ret)
{
    const int last = COLUMNS - 1;

    for (int at = 0; at < last; at++) {
        if (columns[at].is_number)
            berth_buf_addf(ret, "%*s  ", widths[at], cells[at]);
        else
            berth_buf_addf(ret, "%-*s  ", widths[at], cells[at]);
    }
    berth_buf_puts(ret, cells[last]);
}

/* Append the line of titles, and one for each of CONTAINERS, as text. */
static void put_table(const struct berth_containers *containers,
                      struct berth_json *json)
{
    BERTH_STRVEC struct berth_strvec cells = {0};
    int widths[COLUMNS] = {0};

    add_titles(&cells);
    for (size_t i = 0; i < containers->count; i++)
        add_cells(&containers->items[i], &cells);
    if (cells.failed) {
        json->text.failed = true;
        return;
    }
    measure(&cells, widths);
    for (size_t i = 0; i < cells.count; i += COLUMNS) {
        BERTH_BUF struct berth_buf line = {0};

        put_line(cells.items + i, widths, &line);
        berth_json_linef(json, "%s", berth_buf_text(&line));
        json->text.failed |= line.failed;
    }
}

/* Append CONTAINER as JSON. */
static void put_item(const struct berth_container *container, struct berth_json *json)
{
    BERTH_BUF struct berth_buf since = {0};
    const int unknown = -1;

    put_since(container, &since);
    berth_json_object(json, NULL);
    berth_json_number(json, "job", container->job ? (int)container->job : unknown);
    berth_json_number(json, "step", container->step);
    berth_json_number(json, "component", container->component);
    berth_json_string(json, "node", container->node);
    berth_json_string(json, "image", container->image);
    berth_json_string(json, "since", berth_buf_text(&since));
    berth_json_number(json, "tasks", container->tasks);
    berth_json_number(json, "first_rank", container->rank);
    berth_json_number(json, "server_kib", container->memory);
    berth_json_number(json, "server_cpu_ms", container->cpu);
    berth_json_number(json, "id", container->holder);
    berth_json_string(json, "options", container->options);
    berth_json_end(json);
    json->text.failed |= since.failed;
}

static void put_list(const struct berth_containers *containers, struct berth_json *json)
{
    berth_json_array(json, NULL);
    for (size_t i = 0; i < containers->count; i++)
        put_item(&containers->items[i], json);
    berth_json_end(json);
}

int berth_containers_print(const struct berth_containers *containers, bool is_json,
                           FILE *stream)
{
    BERTH_JSON struct berth_json json = {.pretty = true, .is_text = !is_json};

    if (is_json)
        put_list(containers, &json);
    else
        put_table(containers, &json);
    if (json.text.failed)
        return berth_cli_fail_oom();
    fputs(berth_buf_text(&json.text), stream);
    if (is_json)
        fputs("\n", stream);
    return EXIT_SUCCESS;
}

/* The arguments of the second part, after BERTH_ASK_NODE: see squeue.c. */
enum { JOB, NUMBER, RANK, SECOND_PART };

/* Run the part on the node, with the arguments ARGV. */
static int run_second_part(char **argv)
{
    const struct berth_find wanted = {
        .user = getuid(),
        .job = (unsigned int)strtoul(argv[JOB], NULL, 10),
        .number = (unsigned int)strtoul(argv[NUMBER], NULL, 10),
        .rank = atoi(argv[RANK]),
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
    fputs(berth_buf_text(&lines), stdout);
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

/* What is asked for. */
struct wish {
    bool is_json;
    const char *user; /* NULL: the caller */
    const char *job;  /* NULL: all jobs */
};

/* Find the containers of this node. */
static int find_here(const char *job, struct berth_containers *ret,
                     struct berth_err *err)
{
    struct berth_find wanted = {.user = getuid(), .rank = -1};

    if (job) {
        wanted.job = (unsigned int)strtoul(job, NULL, 10);
        wanted.number = wanted.job;
    }
    return berth_find_containers(&wanted, ret, err);
}

/* Find the containers of WISH: on all nodes of the caller's jobs, if Slurm can be asked
 * for them. This process is CALLER's, or that of another user now. */
static int find(const struct wish *wish, uid_t caller, struct berth_containers *ret,
                struct berth_err *err)
{
    BERTH_FREE char *srun = berth_ask_srun();
    bool is_of_caller = getuid() == caller;

    if (srun && is_of_caller)
        return berth_ask_containers(wish->job, -1, ret, err);
    return find_here(wish->job, ret, err);
}

static int list(const struct wish *wish)
{
    BERTH_CONTAINERS struct berth_containers found = {0};
    const uid_t caller = getuid();
    struct berth_err err;
    bool has_failed;
    int printed;

    if (wish->user && become_user(wish->user, &err) < 0)
        return berth_cli_fail(&err);
    has_failed = find(wish, caller, &found, &err) < 0;
    if (has_failed)
        berth_cli_fail(&err);
    if (has_failed && found.count == 0)
        return BERTH_CLI_FAILED;

    /* A node that fails does not hide the containers of others. */
    berth_containers_sort(&found);
    printed = berth_containers_print(&found, wish->is_json, stdout);
    if (has_failed)
        return BERTH_CLI_FAILED;
    return printed;
}

static bool is_job_number(const char *text)
{
    return *text >= '1' && *text <= '9';
}

int berth_cli_ps(int argc, char **argv)
{
    struct wish wish = {0};

    if (argc == 2 + SECOND_PART && strcmp(argv[1], BERTH_ASK_NODE) == 0)
        return run_second_part(argv + 2);

    for (char **at = argv + 1; *at; at++) {
        if (strcmp(*at, "--json") == 0) {
            wish.is_json = true;
        } else if (strcmp(*at, "-u") == 0 && at[1]) {
            at++;
            wish.user = *at;
        } else if (!wish.job && is_job_number(*at)) {
            wish.job = *at;
        } else {
            return BERTH_CLI_USAGE;
        }
    }
    return list(&wish);
}
