/* SPDX-License-Identifier: Apache-2.0 */
/* berth qualify: do MPI, images, network and Slurm of this site fit together? Outside
 * of a job it becomes a salloc, which runs it again in one. */

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "qualify/qualify.h"
#include "request/request.h"
#include "running/ask.h"

extern char **environ;

/* Seconds of one step, where --seconds does not say, and the most: a day. */
enum { SECONDS = 60, MOST_SECONDS = 24 * 60 * 60 };

struct line {
    struct berth_qualify asked;
    struct berth_strvec wishes; /* words of salloc */
    bool is_json, is_verbose, has_nodes;
};

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    stopped = number;
}

/* An image that is a file here gets its whole path: steps begin in /. */
static int push_image(const char *image, struct berth_strvec *ret,
                      struct berth_err *err)
{
    BERTH_FREE char *path = realpath(image, NULL);

    if (!*image || strcmp(image, BERTH_NO_IMAGE) == 0)
        return berth_err_set(err, "qualify: --image: expected an image, got '%s'",
                             image);
    berth_strvec_push_once(ret, path ? path : image);
    return 0;
}

static int read_seconds(const char *text, int *ret, struct berth_err *err)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (*text < '1' || *text > '9' || *end || number > MOST_SECONDS)
        return berth_err_set(err,
                             "qualify: --seconds: expected a number from 1 to %d, got "
                             "'%s'",
                             MOST_SECONDS, text);
    *ret = (int)number;
    return 0;
}

/* Append the option LETTER with VALUE for salloc. An empty value would take salloc's
 * next word for its own. */
static int push_wish(int letter, const char *value, struct line *ret,
                     struct berth_err *err)
{
    if (!*value)
        return berth_err_set(err, "qualify: -%c: expected a value, got ''", letter);
    berth_strvec_pushf(&ret->wishes, "-%c%s", letter, value);
    return 0;
}

/* Returns 0; -1 with a sentence in ERR; BERTH_CLI_MISUSED: the use is wrong. */
static int read_line(int argc, char **argv, struct line *ret, struct berth_err *err)
{
    static const struct option options[] = {
        {"account", required_argument, NULL, 'A'},
        {"directory", required_argument, NULL, 'd'},
        {"image", required_argument, NULL, 'i'},
        {"json", no_argument, NULL, 'j'},
        {"mpi", required_argument, NULL, 'm'},
        {"partition", required_argument, NULL, 'p'},
        {"quick", no_argument, NULL, 'q'},
        {"seconds", required_argument, NULL, 's'},
        {"verbose", no_argument, NULL, 'v'},
        {0},
    };
    int found;

    opterr = 0;
    while ((found = getopt_long(argc, argv, "A:N:p:vw:", options, NULL)) != -1) {
        if (strchr("ANpw", found) && push_wish(found, optarg, ret, err) < 0)
            return -1;
        switch (found) {
        case 'A':
            ret->asked.account = optarg;
            break;
        case 'p':
            ret->asked.partition = optarg;
            break;
        case 'N':
            ret->has_nodes = true;
            break;
        case 'w':
            ret->asked.node_list = optarg;
            break;
        case 'd':
            ret->asked.directory = optarg;
            break;
        case 'i':
            if (push_image(optarg, &ret->asked.images, err) < 0)
                return -1;
            break;
        case 'j':
            ret->is_json = true;
            break;
        case 'm':
            berth_strvec_push_once(&ret->asked.types, optarg);
            break;
        case 'q':
            ret->asked.is_quick = true;
            break;
        case 's':
            if (read_seconds(optarg, &ret->asked.seconds, err) < 0)
                return -1;
            break;
        case 'v':
            ret->is_verbose = true;
            break;
        default:
            return BERTH_CLI_MISUSED;
        }
    }
    if (optind < argc)
        return BERTH_CLI_MISUSED;
    return ret->wishes.failed || ret->asked.images.failed || ret->asked.types.failed
               ? berth_err_oom(err)
               : 0;
}

/* Become a salloc that does the same in a job. Returns only on failure. */
static int become(struct line *line, char **argv, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec words = {0}, env = {0}, command = {0};

    if (!line->has_nodes && !line->asked.node_list)
        berth_strvec_push(&line->wishes,
                          berth_qualify_is_small(&line->asked) ? "-N1" : "-N2");
    berth_strvec_push(&command, BERTH_ASK_PROGRAM);
    for (; *argv; argv++)
        berth_strvec_push(&command, *argv);
    berth_job_environment(environ, &env);
    if (env.failed || command.failed || line->wishes.failed)
        return berth_err_oom(err);
    if (berth_qualify_salloc(line->wishes.items, command.items, &words, err) < 0)
        return -1;
    execve(words.items[0], words.items, env.items);
    return berth_err_set(err, "'%s': %s", words.items[0], strerror(errno));
}

static void print_check(const struct berth_check *check, void *told)
{
    const struct line *line = told;
    BERTH_BUF struct berth_buf text = {0};

    if (line->is_json)
        return;
    berth_check_put(check, line->is_verbose, &text);
    printf("%s", text.failed || !text.text ? "" : text.text);
    fflush(stdout);
}

static int print_end(const struct line *line, const struct berth_checks *checks,
                     const struct berth_buf *kept, bool *ret_passed,
                     struct berth_err *err)
{
    BERTH_JSON struct berth_json json = {.pretty = true};
    BERTH_BUF struct berth_buf text = {0}, verdict = {0};

    berth_json_object(&json, NULL);
    berth_json_string(&json, "berth", BERTH_VERSION);
    *ret_passed = berth_checks_verdict(checks, &verdict);
    berth_json_bool(&json, "passed", *ret_passed);
    berth_json_string(&json, "verdict", verdict.text);
    berth_json_bool(&json, "complete", !berth_checks_count(checks, BERTH_CHECK_SKIP));
    berth_json_string(&json, "directory", kept->text);
    berth_checks_json(checks, &json);
    berth_json_end(&json);
    berth_checks_sum(checks, &text);
    if (json.text.failed || text.failed || verdict.failed || kept->failed)
        return berth_err_oom(err);
    if (kept->text && !line->is_json)
        printf("the programs are kept in %s\n", kept->text);
    if (line->is_json)
        printf("%s\n", json.text.text);
    else
        printf("%s\n%s\n", text.text, verdict.text);
    return 0;
}

static int qualify(const struct line *line)
{
    const struct sigaction end = {.sa_handler = stop};
    BERTH_BUF struct berth_buf kept = {0};
    struct berth_checks checks = {0};
    struct berth_err err;
    bool passed = false;
    int result;

    sigaction(SIGINT, &end, NULL);
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGHUP, &end, NULL);
    sigaction(SIGPIPE, &end, NULL); /* nobody reads what it prints */
    result = berth_qualify_run(&line->asked, &checks, &kept, &err);
    if (result == 0)
        result = print_end(line, &checks, &kept, &passed, &err);
    if (result < 0)
        berth_err_at(&err, "qualify");
    result = result < 0 ? berth_cli_fail(&err)
             : passed   ? EXIT_SUCCESS
                        : BERTH_CLI_FAILED;
    berth_checks_fini(&checks);
    return result;
}

static void line_fini(struct line *line)
{
    berth_strvec_fini(&line->asked.images);
    berth_strvec_fini(&line->asked.types);
    berth_strvec_fini(&line->wishes);
}

int berth_cli_qualify(int argc, char **argv)
{
    struct line line = {.asked = {.directory = ".",
                                  .seconds = SECONDS,
                                  .stop = &stopped,
                                  .tell = print_check}};
    struct berth_err err;
    int result = read_line(argc, argv, &line, &err);

    line.asked.told = &line;
    if (result == BERTH_CLI_MISUSED)
        result = BERTH_CLI_USAGE;
    else if (result < 0)
        result = berth_cli_misused(&err);
    else if (berth_qualify_in_job())
        result = qualify(&line);
    else {
        become(&line, argv, &err);
        berth_err_at(&err, "qualify");
        result = berth_cli_fail(&err);
    }
    line_fini(&line);
    return result;
}
