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
#include "cli/ask.h"

enum { COLUMNS = 8, JOB = 0, TASKS = 5, SINCE_SIZE = 32 };

static void write_since(const struct berth_container *item, char text[SINCE_SIZE])
{
    time_t began = (time_t)item->since;
    struct tm local;

    localtime_r(&began, &local);
    strftime(text, SINCE_SIZE, "%Y-%m-%dT%H:%M:%S", &local);
}

/* Append TEXT, which somebody else may have chosen, so that it cannot write to the
 * terminal. */
static void push_escaped(const char *text, struct berth_strvec *cells)
{
    char shown[1024];

    berth_err_escape(shown, sizeof(shown), text);
    berth_strvec_push(cells, shown);
}

/* Append the COLUMNS cells of ITEM; what is not known is "-". */
static void push_row(const struct berth_container *item, struct berth_strvec *cells)
{
    char since[SINCE_SIZE];

    write_since(item, since);
    if (item->job)
        berth_strvec_pushf(cells, "%u", item->job);
    else
        berth_strvec_push(cells, "-");
    if (item->step >= 0 && item->component >= 0)
        berth_strvec_pushf(cells, "%d+%d", item->step, item->component);
    else if (item->step >= 0)
        berth_strvec_pushf(cells, "%d", item->step);
    else
        berth_strvec_push(cells, item->tasks ? "-" : "job");
    push_escaped(item->node, cells);
    push_escaped(item->image, cells);
    berth_strvec_push(cells, since);
    berth_strvec_pushf(cells, "%u", item->tasks);
    if (item->memory >= 0)
        berth_strvec_pushf(cells, "%.1fM", item->memory / 1024.0);
    else
        berth_strvec_push(cells, "-");
    if (item->cpu >= 0)
        berth_strvec_pushf(cells, "%.2fs", item->cpu / 1000.0);
    else
        berth_strvec_push(cells, "-");
}

static int print_table(const struct berth_containers *found, struct berth_err *err)
{
    static const char *const heads[COLUMNS] = {"JOB",   "STEP",  "NODE", "IMAGE",
                                               "SINCE", "TASKS", "RSS",  "CPU"};
    BERTH_STRVEC struct berth_strvec cells = {0};
    int widths[COLUMNS] = {0};

    for (size_t at = 0; at < COLUMNS; at++)
        berth_strvec_push(&cells, heads[at]);
    for (size_t i = 0; i < found->count; i++)
        push_row(&found->items[i], &cells);
    if (cells.failed)
        return berth_err_oom(err);
    for (size_t i = 0; i < cells.count; i++)
        if ((int)strlen(cells.items[i]) > widths[i % COLUMNS])
            widths[i % COLUMNS] = (int)strlen(cells.items[i]);
    for (size_t i = 0; i < cells.count; i++) {
        size_t at = i % COLUMNS;
        int width = at == JOB || at >= TASKS ? widths[at] : -widths[at];

        printf("%*s%s", width, cells.items[i], at + 1 < COLUMNS ? "  " : "\n");
    }
    return 0;
}

static int print_json(const struct berth_containers *found, struct berth_err *err)
{
    BERTH_JSON struct berth_json json = {.pretty = true};

    berth_json_array(&json, NULL);
    for (size_t i = 0; i < found->count; i++) {
        const struct berth_container *item = &found->items[i];
        char since[SINCE_SIZE];

        write_since(item, since);
        berth_json_object(&json, NULL);
        berth_json_number(&json, "job", item->job ? (int)item->job : -1);
        berth_json_number(&json, "step", item->step);
        berth_json_number(&json, "component", item->component);
        berth_json_string(&json, "node", item->node);
        berth_json_string(&json, "image", item->image);
        berth_json_string(&json, "since", since);
        berth_json_number(&json, "tasks", item->tasks);
        berth_json_number(&json, "first_rank", item->rank);
        berth_json_number(&json, "server_kib", item->memory);
        berth_json_number(&json, "server_cpu_ms", item->cpu);
        berth_json_end(&json);
    }
    berth_json_end(&json);
    if (json.text.failed)
        return berth_err_oom(err);
    printf("%s\n", json.text.text);
    return 0;
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
    if ((is_json ? print_json(&found, &err) : print_table(&found, &err)) < 0)
        return berth_cli_fail(&err);
    return result < 0 ? BERTH_CLI_FAILED : EXIT_SUCCESS;
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
