/* SPDX-License-Identifier: Apache-2.0 */
/* berth enter: runs a command beside the tasks of a step that runs, in their container.
 * The first part asks Slurm for the container and becomes an srun, which runs the
 * second part on the node: berth enter --node-part. */

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fields.h"
#include "base/strvec.h"
#include "cli/cli.h"
#include "cli/ask.h"
#include "cli/entering.h"
#include "cli/find.h"

extern char **environ;

/* Find the containers of the job on all nodes, so that an error can name one that is
 * elsewhere. A component of a het job that fails does not hide the others. */
static int ask(const struct berth_selector *selector, struct berth_containers *found,
               struct berth_err *err)
{
    BERTH_JOBS struct berth_jobs jobs = {0};

    if (berth_ask_jobs(selector->job, &jobs, err) < 0)
        return -1;
    for (size_t i = 0; i < jobs.count; i++)
        if (berth_ask_containers(&jobs.items[i], NULL, selector->rank, found, err) <
                0 &&
            found->count == 0)
            return -1;
    return 0;
}

/* Append WORD of the command, encoded: srun would read a colon as its own, and the
 * plugin would warn of options in it. */
static void push_encoded(const char *word, struct berth_strvec *words)
{
    BERTH_BUF struct berth_buf field = {0};

    berth_field_put(&field, 0, "word", word);
    words->failed |= field.failed;
    berth_strvec_push(words, field.text ? field.text : "");
}

/* Decode the words of push_encoded() in place. */
static int decode_words(char **words, struct berth_err *err)
{
    for (; *words; words++) {
        char *next = *words, *key;

        if (berth_field_next(&next, &key, words, err) < 0)
            return -1;
    }
    return 0;
}

/* Become the srun that enters CONTAINER. Returns only on failure: -1 with a sentence in
 * ERR. */
static int become(const struct berth_container *container, char **command,
                  struct berth_err *err)
{
    BERTH_FREE char *srun = berth_ask_srun();
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_STRVEC struct berth_strvec env = {0};
    bool is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);

    berth_job_srun(srun, container->job, container->offset, container->node, 1, &words);
    berth_strvec_push(&words, is_terminal ? "--pty" : "--unbuffered");
    berth_strvec_push(&words, BERTH_ASK_PROGRAM);
    berth_strvec_push(&words, "enter");
    berth_strvec_push(&words, BERTH_ASK_WORD);
    berth_strvec_pushf(&words, "%u", container->job);
    berth_strvec_pushf(&words, "%d", container->rank);
    berth_strvec_pushf(&words, "%d", container->holder);
    for (; *command; command++)
        push_encoded(*command, &words);
    berth_job_environment(environ, &env);
    if (words.failed || env.failed)
        return berth_err_oom(err);
    execve(srun, words.items, env.items);
    return berth_err_set(err, "'%s': %s", srun, strerror(errno));
}

/* Run the second part. WORDS are those that become() put behind BERTH_ASK_WORD. */
static int enter_here(char **words)
{
    BERTH_CONTAINERS struct berth_containers found = {0};
    unsigned int job = (unsigned int)strtoul(words[0], NULL, 10);
    const struct berth_find wanted = {
        .user = getuid(), .job = job, .rank = atoi(words[1])};
    pid_t holder = atoi(words[2]);
    struct berth_err err;
    int status;

    if (decode_words(words + 3, &err) < 0 ||
        berth_find_containers(&wanted, &found, &err) < 0)
        return berth_cli_fail(&err);
    for (size_t i = 0; i < found.count; i++)
        if (found.items[i].holder == holder) {
            status = berth_enter(&found.items[i], words + 3, &err);
            if (*err.text) {
                berth_err_at(&err, "%s: image '%s'", found.items[i].node,
                             found.items[i].image);
                berth_cli_fail(&err);
            }
            return status;
        }
    berth_err_set(&err, "job %u: the container has ended; see berth ps", job);
    return berth_cli_fail(&err);
}

/* Read the value TEXT of the option --NAME. */
static int read_number(const char *name, const char *text, int *ret,
                       struct berth_err *err)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || number > INT_MAX)
        return berth_err_set(err, "enter: --%s: expected a number, got '%s'", name,
                             text);
    *ret = (int)number;
    return 0;
}

/* Read the command line: options, JOBID, options, COMMAND. Returns the index of the
 * command; 0: the command line is wrong; -1 with a sentence in ERR. */
static int read_line(int argc, char **argv, struct berth_selector *selector,
                     struct berth_err *err)
{
    static const struct option options[] = {
        {"component", required_argument, NULL, 'c'},
        {"rank", required_argument, NULL, 'r'},
        {0},
    };
    int found;

    opterr = 0;
    while (optind < argc) {
        found = getopt_long(argc, argv, "+w:", options, NULL);
        if (found == 'w')
            selector->node = optarg;
        else if (found == 'c' || found == 'r') {
            if (read_number(found == 'c' ? "component" : "rank", optarg,
                            found == 'c' ? &selector->component : &selector->rank,
                            err) < 0)
                return -1;
        } else if (found != -1)
            return 0;
        else if (selector->job || optind == argc)
            break;
        else if (berth_selector_read(argv[optind++], selector, err) < 0)
            return berth_err_at(err, "enter");
    }
    return selector->job ? optind : 0;
}

int berth_cli_enter(int argc, char **argv)
{
    BERTH_CONTAINERS struct berth_containers found = {0};
    struct berth_selector selector = {.step = -1, .component = -1, .rank = -1};
    const struct berth_container *chosen;
    struct berth_err err;
    int command;

    if (argc >= 5 && strcmp(argv[1], BERTH_ASK_WORD) == 0)
        return enter_here(argv + 2);
    command = read_line(argc, argv, &selector, &err);
    if (command == 0)
        return BERTH_CLI_USAGE;
    if (command < 0)
        return berth_cli_misused(&err);
    if (ask(&selector, &found, &err) == 0 &&
        (chosen = berth_containers_choose(&found, &selector, &err)))
        become(chosen, argv + command, &err);
    berth_err_at(&err, "enter");
    return berth_cli_fail(&err);
}
