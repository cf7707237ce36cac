/* SPDX-License-Identifier: Apache-2.0 */
/* berth enter and berth save: asks Slurm for the containers of a job, chooses the one
 * that the user means, and becomes an srun, which runs the second part on the node of
 * that container: berth VERB --node-part. What the second part does is in enter.c and
 * save.c. */

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/fields.h"
#include "base/strvec.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/container.h"
#include "cli/squeue.h"
#include "container/become.h"
#include "container/namespaces.h"
#include "ipc/report.h"
#include "request/path.h"
#include "run/saver.h"

extern char **environ;

struct verb {
    const char *name;
    bool saves; /* takes --force and FILE, instead of a command */

    /* The second part. CONTAINER is on this node; the ARGUMENTS end in NULL. Returns
     * the exit status, with a sentence in ERR, or "". */
    int (*run)(const struct berth_container *container, char **arguments,
               struct berth_err *err);
};

/* What the user has typed. Borrows the arguments. */
struct line {
    struct berth_selector selector;
    bool is_forced;
    char **arguments; /* after the options and JOBID, ended by NULL */
};

/* Append ARGUMENT, encoded: srun would read a colon as its own, and the plugin would
 * warn of options in it. */
static void push_encoded(const char *argument, struct berth_strvec *argv)
{
    BERTH_BUF struct berth_buf field = {0};

    berth_field_put(&field, 0, "word", argument);
    if (field.failed)
        argv->failed = true;
    else
        berth_strvec_push(argv, field.text);
}

/* Decode the arguments of push_encoded() in place. */
static int decode(char **argv, struct berth_err *err)
{
    for (; *argv; argv++) {
        char *next = *argv;
        char *key;

        if (berth_field_next(&next, &key, argv, err) < 0)
            return -1;
    }
    return 0;
}

/* The arguments of the second part, after BERTH_ASK_NODE. */
enum { JOB, RANK, HOLDER, ARGUMENTS };

static void push_second_part(const struct verb *verb,
                             const struct berth_container *container, char **arguments,
                             struct berth_strvec *argv)
{
    berth_strvec_push(argv, BERTH_ASK_PROGRAM);
    berth_strvec_push(argv, verb->name);
    berth_strvec_push(argv, BERTH_ASK_NODE);
    berth_strvec_pushf(argv, "%u", container->job);
    berth_strvec_pushf(argv, "%d", container->rank);
    berth_strvec_pushf(argv, "%d", container->holder);
    for (; *arguments; arguments++)
        push_encoded(*arguments, argv);
}

/* Become the srun that runs the second part of VERB, with ARGUMENTS, on the node of
 * CONTAINER. Returns only on failure: -1 with a sentence in ERR. */
static int become_srun(const struct verb *verb, const struct berth_container *container,
                       char **arguments, struct berth_err *err)
{
    BERTH_FREE char *srun = berth_ask_srun();
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_STRVEC struct berth_strvec env = {0};
    bool is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);

    berth_job_srun(srun, container->job, container->offset, container->node, 1, &argv);
    berth_strvec_push(&argv, is_terminal ? "--pty" : "--unbuffered");
    push_second_part(verb, container, arguments, &argv);
    berth_job_environment(environ, &env);
    if (argv.failed || env.failed)
        return berth_err_oom(err);
    execve(srun, argv.items, env.items);
    return berth_err_file(err, srun, "started");
}

/* Run VERB with ARGUMENTS in CONTAINER, which is on this node. */
static int run_on(const struct verb *verb, const struct berth_container *container,
                  char **arguments)
{
    struct berth_err err;
    int status = verb->run(container, arguments, &err);

    if (*err.text) {
        berth_err_at(&err, "%s: image '%s'", container->node, container->image);
        berth_cli_fail(&err);
    }
    return status;
}

/* Run the second part of VERB with ARGV, which push_second_part() has made. */
static int run_second_part(const struct verb *verb, char **argv)
{
    BERTH_CONTAINERS struct berth_containers found = {0};
    const struct berth_find wanted = {
        .user = getuid(),
        .job = (unsigned int)strtoul(argv[JOB], NULL, 10),
        .rank = atoi(argv[RANK]),
    };
    const pid_t holder = atoi(argv[HOLDER]);
    char **arguments = argv + ARGUMENTS;
    struct berth_err err;

    if (decode(arguments, &err) < 0)
        return berth_cli_fail(&err);
    if (berth_find_containers(&wanted, &found, &err) < 0)
        return berth_cli_fail(&err);
    for (size_t i = 0; i < found.count; i++)
        if (found.items[i].holder == holder)
            return run_on(verb, &found.items[i], arguments);

    berth_container_refuse_ended(&err);
    berth_err_at(&err, "job %u", wanted.job);
    return berth_cli_fail(&err);
}

/* Read TEXT, the value of the option NAME. */
static int read_number(const char *name, const char *text, int *ret,
                       struct berth_err *err)
{
    char *end;

    *ret = berth_selector_number(text, &end);
    if (*ret < 0 || *end)
        return berth_err_set(err, "expected a number for --%s, got '%s'", name, text);
    return 0;
}

/* Read TEXT, the value of --container: a number of `berth ps`, or a name. */
static void read_container(const char *text, struct berth_selector *selector)
{
    char *end;
    const int number = berth_selector_number(text, &end);
    bool is_number = number >= 0 && !*end;

    if (is_number)
        selector->holder = number;
    else
        selector->name = text;
}

/* Read the option of LETTER, with its value in optarg. Returns EXIT_SUCCESS,
 * BERTH_CLI_USAGE if VERB has no such option, or BERTH_CLI_MISUSED with a sentence in
 * ERR. */
static int read_option(const struct verb *verb, int letter, struct line *ret,
                       struct berth_err *err)
{
    struct berth_selector *selector = &ret->selector;
    int result = 0;

    if (letter == 'w')
        selector->node = optarg;
    else if (letter == 'i')
        read_container(optarg, selector);
    else if (letter == 'c')
        result = read_number("component", optarg, &selector->component, err);
    else if (letter == 'r')
        result = read_number("rank", optarg, &selector->rank, err);
    else if (letter == 'f' && verb->saves)
        ret->is_forced = true;
    else
        return BERTH_CLI_USAGE;
    return result < 0 ? BERTH_CLI_MISUSED : EXIT_SUCCESS;
}

/* Read options, JOBID, options up to the first argument of the verb itself. Returns as
 * read_option(). */
static int read_options(const struct verb *verb, int argc, char **argv,
                        struct line *ret, struct berth_err *err)
{
    static const struct option options[] = {
        {"component", required_argument, NULL, 'c'},
        {"container", required_argument, NULL, 'i'},
        {"rank", required_argument, NULL, 'r'},
        {"force", no_argument, NULL, 'f'},
        {0},
    };

    opterr = 0;
    while (optind < argc) {
        int letter = getopt_long(argc, argv, "+w:", options, NULL);

        if (letter != -1) {
            int result = read_option(verb, letter, ret, err);

            if (result != EXIT_SUCCESS)
                return result;
            continue;
        }

        /* not an option: JOBID, or after it what is the verb's */
        if (ret->selector.job || optind == argc)
            break;
        if (berth_selector_read(argv[optind], &ret->selector, err) < 0)
            return BERTH_CLI_MISUSED;
        optind++;
    }
    return EXIT_SUCCESS;
}

/* Read the command line, and print what is wrong with it, unless the caller prints the
 * usage. Returns EXIT_SUCCESS, or the status of the verb. */
static int read_line(const struct verb *verb, int argc, char **argv, struct line *ret)
{
    struct berth_err err;
    int result;

    *ret = (struct line){
        .selector = {.step = -1,
                     .component = -1,
                     .rank = -1,
                     .holder = -1,
                     .is_to_save = verb->saves},
    };
    result = read_options(verb, argc, argv, ret, &err);
    if (result == BERTH_CLI_MISUSED) {
        berth_err_at(&err, "%s", verb->name);
        return berth_cli_misused(&err);
    }
    if (result != EXIT_SUCCESS)
        return result;

    if (!ret->selector.job)
        return BERTH_CLI_USAGE;
    if (verb->saves && optind + 1 != argc)
        return BERTH_CLI_USAGE;
    ret->arguments = argv + optind;
    return EXIT_SUCCESS;
}

/* Choose the container of LINE, and become an srun on its node, with ARGUMENTS. Returns
 * only on failure. */
static int run_first_part(const struct verb *verb, const struct line *line,
                          char **arguments)
{
    BERTH_CONTAINERS struct berth_containers found = {0};
    struct berth_containers several = {0}; /* borrows from FOUND */
    const struct berth_selector *selector = &line->selector;
    const struct berth_container *chosen = NULL;
    struct berth_err err;
    int result;

    /* On all nodes, so that an error can name a container that is elsewhere. A node
     * that fails does not hide the containers of others. */
    result = berth_ask_containers(selector->job, selector->rank, &found, &err);
    if (result == 0 || found.count > 0)
        chosen = berth_containers_choose(&found, selector, &several, &err);
    if (chosen)
        become_srun(verb, chosen, arguments, &err);

    berth_err_at(&err, "%s", verb->name);
    berth_cli_fail(&err);
    if (!chosen && several.count)
        berth_containers_print(&several, false, stderr);
    free(several.items);
    return BERTH_CLI_FAILED;
}

/* Has srun started this process with the arguments of push_second_part()? */
static bool is_second_part(int argc, char **argv)
{
    return argc >= 2 + ARGUMENTS && strcmp(argv[1], BERTH_ASK_NODE) == 0;
}

int berth_cli_enter(int argc, char **argv)
{
    static const struct verb enter = {.name = "enter", .run = berth_enter};
    struct line line;
    int result;

    if (is_second_part(argc, argv))
        return run_second_part(&enter, argv + 2);
    result = read_line(&enter, argc, argv, &line);
    if (result != EXIT_SUCCESS)
        return result;
    return run_first_part(&enter, &line, line.arguments);
}

/* Save CONTAINER, which is on this node, to the file in ARGUMENTS, which --force
 * may follow. */
static int save(const struct berth_container *container, char **arguments,
                struct berth_err *err)
{
    const char *file = arguments[0];
    bool is_forced = arguments[1] != NULL;

    err->text[0] = '\0';
    if (berth_save(container, file, is_forced, NULL, err) < 0)
        return BERTH_REFUSED;
    puts(file);
    return EXIT_SUCCESS;
}

/* Save the container of a step that has no more tasks, for its supervisor: ARGUMENTS
 * are those of run/saver.h. */
static int save_of_step(char **arguments)
{
    const struct berth_holder holder = berth_holder_of(atoi(arguments[0]));
    const char *file = arguments[1];
    struct berth_container container = {
        .holder = holder.pid,
        .mounts = holder.mounts,
        .node = arguments[2],
        .job = (unsigned int)strtoul(arguments[3], NULL, 10),
        .image = arguments[4],
    };
    struct berth_err err;
    off_t bytes = 0;

    if (access(file, F_OK) == 0)
        berth_err_set(&err,
                      "'%s' was made while the step ran, and stays as it is; save to "
                      "another name",
                      file);
    else if (berth_save(&container, file, false, &bytes, &err) == 0) {
        berth_report_line(STDERR_FILENO, container.node, "saved '%s' (%lld MB)", file,
                          berth_text_megabytes(bytes));
        return EXIT_SUCCESS;
    }
    berth_err_at(&err, "%s: --container-save", container.node);
    return berth_cli_fail(&err);
}

int berth_cli_save(int argc, char **argv)
{
    static const struct verb saving = {.name = "save", .saves = true, .run = save};
    BERTH_FREE char *here = getcwd(NULL, 0);
    BERTH_FREE char *file = NULL;
    char force[] = "--force";
    char *arguments[] = {NULL, NULL, NULL};
    struct berth_err err;
    struct line line;
    int result;

    if (is_second_part(argc, argv))
        return run_second_part(&saving, argv + 2);
    if (argc == 2 + BERTH_SAVER_WORDS && strcmp(argv[1], BERTH_SAVER_WORD) == 0)
        return save_of_step(argv + 2);
    result = read_line(&saving, argc, argv, &line);
    if (result != EXIT_SUCCESS)
        return result;

    /* The second part runs in another directory. */
    if (berth_path_absolute(line.arguments[0], here, &file, &err) < 0)
        return berth_cli_misused(&err);
    arguments[0] = file;
    if (line.is_forced)
        arguments[1] = force;
    return run_first_part(&saving, &line, arguments);
}
