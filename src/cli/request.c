/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a request from a command line, as srun does. */

#include "cli/request.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "request/components.h"
#include "request/defaults.h"
#include "request/option.h"
#include "request/script.h"
#include "base/suggest.h"
#include "base/text.h"

extern char **environ;

/* Numbers after those of the table of options. */
enum { HELP = BERTH_OPTION_COUNT, OPTIONS };

/* What getopt_long(3) returns for option 0: more than any character. */
enum { FIRST = UCHAR_MAX + 1 };

/* Set OPTIONS to all options, for getopt_long(3). */
static void list_options(struct option *options)
{
    for (int at = 0; at < BERTH_OPTION_COUNT; at++)
        options[at] = (struct option){
            .name = berth_options[at].name,
            .has_arg = berth_option_has_arg(&berth_options[at]),
            .val = FIRST + at,
        };
    options[HELP] = (struct option){.name = "help", .val = FIRST + HELP};
    options[OPTIONS] = (struct option){0};
}

/* Refuse ARGUMENT of the command line, which is not an option. */
static int refuse_option(const char *verb, const char *argument, struct berth_err *err)
{
    static const char *const of_run[] = {"help", NULL};
    static const char *const of_explain[] = {"all", "json", "color", "help", NULL};
    bool is_explain = strcmp(verb, "explain") == 0;
    const char *const *own = is_explain ? of_explain : of_run;
    BERTH_FREE char *name = strndup(argument, strcspn(argument, "="));
    const char *bare, *meant;
    size_t most;

    if (!name)
        return berth_err_oom(err);
    bare = name + strspn(name, "-");
    if (is_explain && berth_text_is_any(bare, own))
        return berth_err_set(err, "%s: %s comes before the options of srun", verb,
                             name);
    most = strlen(name) / 4;
    meant = berth_option_near(bare, most);
    if (!meant)
        meant = berth_suggest_nearest(bare, own, strlen(name) / 3);
    berth_suggest_option(name, meant, "one of --help", err);
    return berth_err_at(err, "%s", verb);
}

/* Read the value of the option ID, in optarg. */
static int read_option(enum berth_option_id id, const char *directory,
                       struct berth_request *ret, struct berth_err *err)
{
    if (berth_request_parse(ret, id, optarg, directory, err) < 0)
        return berth_err_at(err, "--%s", berth_options[id].name);
    return 0;
}

/* Read the options of ARGV into RET, and set *RET_HELPS for --help. Returns the index
 * of the argument after the options, or -1 with a sentence in ERR. */
static int read_options(int argc, char **argv, const struct option *options,
                        bool *ret_helps, struct berth_request *ret,
                        struct berth_err *err)
{
    BERTH_FREE char *directory = getcwd(NULL, 0);

    opterr = 0;
    for (;;) {
        const char *argument = argv[optind];
        int found = getopt_long(argc, argv, "+:", options, NULL);

        if (found == -1)
            return optind;
        if (found == '?' && optopt >= FIRST)
            return berth_err_set(err, "%s: '%s' takes no value", argv[0], argument);
        if (found == '?')
            return refuse_option(argv[0], argument, err);

        /* The parser has the sentence for an option without its value. */
        if (found == ':')
            found = optopt;
        if (found == FIRST + HELP)
            *ret_helps = true;
        else if (read_option((enum berth_option_id)(found - FIRST), directory, ret,
                             err) < 0)
            return -1;
    }
}

/* The component whose default of the job this process has: the first for the batch
 * script and the shell of salloc, which have no ordinary step. */
static int find_group(void)
{
    if (berth_script_has_step(environ))
        return BERTH_GROUP_UNKNOWN;
    return 0;
}

/* Merge the options over the variables, and these over the default of the job. Returns
 * as read_options(). */
static int read_request(int argc, char **argv, bool *ret_helps,
                        struct berth_request *ret, struct berth_err *err)
{
    const char *job_text = getenv(BERTH_JOB_VARIABLE);
    struct option options[OPTIONS + 1];
    struct berth_strvec nothing = {0};
    BERTH_FREE char *directory = getcwd(NULL, 0);
    BERTH_REQUEST struct berth_request typed = {0};
    BERTH_REQUEST struct berth_request variables = {0};
    BERTH_REQUEST struct berth_request job = {0};
    bool is_complete; /* no default of the job is needed */
    int command;

    list_options(options);
    command = read_options(argc, argv, options, ret_helps, &typed, err);
    if (command < 0)
        return -1;
    if (typed.script != BERTH_UNSAID)
        return berth_err_set(err, "%s: --container-script is for sbatch; leave it out",
                             argv[0]);

    is_complete = typed.image || typed.container_name;
    if (berth_defaults_job(job_text, find_group(), &job, err) < 0 && !is_complete)
        return -1;
    if (berth_defaults_parse(environ, &nothing, directory, &variables, err) < 0)
        return -1;

    /* the later ones win */
    if (berth_request_merge(ret, &job, err) < 0)
        return -1;
    if (berth_request_merge(ret, &variables, err) < 0)
        return -1;
    if (berth_request_merge(ret, &typed, err) < 0)
        return -1;
    if (berth_defaults_add_pyxis(environ, &nothing, directory, ret, &variables, err) <
        0)
        return -1;
    return command;
}

/* Refuse what only a step with the plugin can do. */
static int check_run(const struct berth_request *request, struct berth_err *err)
{
    if (request->save)
        return berth_err_set(err, "run: --container-save: only a step of srun with the "
                                  "plugin saves its container; write `berth save`, or "
                                  "leave it out");
    /* the job keeps the container of its batch script */
    if (request->container_name && !getenv(BERTH_SCRIPT_VARIABLE))
        return berth_err_set(err, "run: --container-name: only steps of srun with the "
                                  "plugin have containers with names; leave it out");
    return 0;
}

/* Check that REQUEST has an image, or asks for the host, where there is nothing to
 * explain; and does not contradict itself. */
static int check(const char *verb, const struct berth_request *request,
                 struct berth_err *err)
{
    bool is_run = strcmp(verb, "run") == 0;
    bool is_for_host = request->image && !berth_request_has_container(request);

    if (berth_request_check(request, err) < 0)
        return -1;
    if (is_run && check_run(request, err) < 0)
        return -1;
    if (berth_request_has_container(request))
        return 0;
    if (is_run && is_for_host)
        return 0;
    return berth_err_set(err,
                         "%s: no image; give --container-image, or set "
                         "BERTH_CONTAINER_IMAGE",
                         verb);
}

int berth_cli_request(int argc, char **argv, struct berth_request *ret,
                      char ***ret_command, struct berth_err *err)
{
    bool helps = false;
    int command = read_request(argc, argv, &helps, ret, err);

    if (command < 0)
        return BERTH_CLI_MISUSED;
    if (helps)
        return BERTH_CLI_HELP;
    if (check(argv[0], ret, err) < 0)
        return BERTH_CLI_MISUSED;
    if (command == argc && ret->entrypoint != BERTH_YES)
        return BERTH_CLI_USAGE;
    *ret_command = argv + command;
    return EXIT_SUCCESS;
}

void berth_cli_print_options(void)
{
    for (int i = 0; i < BERTH_OPTION_COUNT; i++) {
        const struct berth_option *option = &berth_options[i];

        if (berth_option_is_optional(option)) /* its argument begins with a bracket */
            printf("  --%s[=%s\n", option->name, option->argument + 1);
        else if (option->argument)
            printf("  --%s=%s\n", option->name, option->argument);
        else
            printf("  --%s\n", option->name);
        printf("      %s\n", option->help);
    }
}
