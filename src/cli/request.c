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
#include "base/suggest.h"

extern char **environ;

/* Numbers behind those of the table of options. */
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

/* Refuse WORD of the command line, which is not an option. */
static int refuse_option(const char *verb, const char *word, struct berth_err *err)
{
    static const char *const help[] = {"help", NULL};
    BERTH_FREE char *name = strndup(word, strcspn(word, "="));
    const char *bare, *meant;
    size_t most;

    if (!name)
        return berth_err_oom(err);
    bare = name + strspn(name, "-");
    most = strlen(name) / 4;
    meant = berth_option_near(bare, most);
    if (!meant)
        meant = berth_suggest_nearest(bare, help, most);
    berth_suggest_option(name, meant, "one of --help", err);
    return berth_err_at(err, "%s", verb);
}

/* Read the options of ARGV into RET, and set *RET_HELPS for --help. Returns the index
 * of the word behind the options, or -1 with a sentence in ERR. */
static int read_options(int argc, char **argv, const struct option *options,
                        bool *ret_helps, struct berth_request *ret,
                        struct berth_err *err)
{
    BERTH_FREE char *directory = getcwd(NULL, 0);
    int at = optind;
    int found;

    opterr = 0;
    for (; (found = getopt_long(argc, argv, "+:", options, NULL)) != -1; at = optind) {
        int id = (found == ':' ? optopt : found) - FIRST;

        if (found == '?' && optopt >= FIRST)
            return berth_err_set(err, "%s: '%s' takes no value", argv[0], argv[at]);
        if (found == '?')
            return refuse_option(argv[0], argv[at], err);
        if (id == HELP)
            *ret_helps = true;
        else if (berth_request_parse(ret, (enum berth_option_id)id, optarg, directory,
                                     err) < 0)
            return berth_err_at(err, "--%s", berth_options[id].name);
    }
    return optind;
}

/* Merge the options over the variables, and these over the default of the job: that of
 * the first component, on which the batch script or the shell of salloc runs, which has
 * no ordinary step. Returns as read_options(). */
static int read_request(int argc, char **argv, bool *ret_helps,
                        struct berth_request *ret, struct berth_err *err)
{
    const char *step = getenv("SLURM_STEP_ID");
    const int group =
        step && strtoul(step, NULL, 10) < 0xfffffff0 ? BERTH_GROUP_UNKNOWN : 0;
    struct option options[OPTIONS + 1];
    struct berth_strvec nothing = {0};
    BERTH_FREE char *directory = getcwd(NULL, 0);
    BERTH_REQUEST struct berth_request own = {0};
    BERTH_REQUEST struct berth_request asked = {0};
    BERTH_REQUEST struct berth_request job = {0};
    int command;

    list_options(options);
    command = read_options(argc, argv, options, ret_helps, &own, err);
    if (command >= 0 && own.script != BERTH_UNSAID)
        return berth_err_set(err, "%s: --container-script is for sbatch; leave it out",
                             argv[0]);
    if (command < 0 ||
        (berth_defaults_job(getenv(BERTH_JOB_VARIABLE), group, &job, err) < 0 &&
         !own.image && !own.container_name) || /* else no default is needed */
        berth_defaults_parse(environ, &nothing, directory, &asked, err) < 0 ||
        berth_request_merge(ret, &job, err) < 0 ||
        berth_request_merge(ret, &asked, err) < 0 ||
        berth_request_merge(ret, &own, err) < 0 ||
        berth_defaults_add_pyxis(environ, &nothing, directory, ret, &asked, err) < 0)
        return -1;
    return command;
}

/* Check that REQUEST has an image, or asks for the host, where there is nothing to
 * explain; and does not contradict itself. */
static int check(const char *verb, const struct berth_request *request,
                 struct berth_err *err)
{
    if (berth_request_check(request, err) < 0)
        return -1;
    if (request->save && strcmp(verb, "run") == 0)
        return berth_err_set(
            err,
            "%s: --container-save: only a step of srun with the plugin "
            "saves its container; write `berth save`, or leave it out",
            verb);
    if (request->container_name && strcmp(verb, "run") == 0)
        return berth_err_set(err,
                             "%s: --container-name: only steps of srun with the "
                             "plugin have containers with names; leave it out",
                             verb);
    return berth_request_has_container(request) ||
                   (request->image && strcmp(verb, "run") == 0)
               ? 0
               : berth_err_set(err,
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

        if (berth_option_is_optional(option))
            printf("  --%s[=%s\n", option->name, option->argument + 1);
        else if (option->argument)
            printf("  --%s=%s\n", option->name, option->argument);
        else
            printf("  --%s\n", option->name);
        printf("      %s\n", option->help);
    }
}
