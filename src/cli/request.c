/* SPDX-License-Identifier: Apache-2.0 */
/* From a command line to a request, as srun reads it. */

#include "cli/request.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "request/defaults.h"
#include "request/option.h"

extern char **environ;

/* Behind the options of the table. */
enum { HELP = BERTH_OPTION_COUNT, FLAG, OPTIONS };

/* What getopt_long(3) calls the first option: no letter. */
enum { FIRST = UCHAR_MAX + 1 };

/* All of them for getopt_long(3). FLAG may be NULL, and then ends them. */
static void fill(const char *flag, struct option *options)
{
    for (int at = 0; at < BERTH_OPTION_COUNT; at++)
        options[at] = (struct option){
            .name = berth_options[at].name,
            .has_arg = berth_option_is_optional(&berth_options[at]) ? optional_argument
                       : berth_options[at].argument                 ? required_argument
                                                                    : no_argument,
            .val = FIRST + at,
        };
    options[HELP] = (struct option){.name = "help", .val = FIRST + HELP};
    options[FLAG] = (struct option){.name = flag, .val = FIRST + FLAG};
    options[OPTIONS] = (struct option){0};
}

/* Read those of ARGV. Sets the items of GIVEN for HELP and FLAG. Returns the place of
 * what is behind them. */
static int read_options(int argc, char **argv, const struct option *options,
                        bool *given, struct berth_request *ret, struct berth_err *err)
{
    BERTH_FREE char *directory = getcwd(NULL, 0);
    int at = optind;
    int found;

    opterr = 0;
    for (; (found = getopt_long(argc, argv, "+:", options, NULL)) != -1; at = optind) {
        int id = found - FIRST;

        if (found == ':')
            return berth_err_set(err, "%s: '%s' needs a value", argv[0], argv[at]);
        if (found == '?' && optopt >= FIRST)
            return berth_err_set(err, "%s: '%s' takes no value", argv[0], argv[at]);
        if (found == '?')
            return berth_err_set(err, "%s: '%s' is not an option; see berth %s --help",
                                 argv[0], argv[at], argv[0]);
        if (id >= BERTH_OPTION_COUNT)
            given[id] = true;
        else if (berth_request_take(ret, (enum berth_option_id)id, optarg, directory,
                                    err) < 0)
            return berth_err_at(err, "--%s", berth_options[id].name);
    }
    return optind;
}

/* The options over their variables, and these over the default of the job. */
static int read_request(int argc, char **argv, const char *flag, bool *given,
                        struct berth_request *ret, struct berth_err *err)
{
    struct option options[OPTIONS + 1];
    struct berth_strvec nothing = {0};
    BERTH_FREE char *directory = getcwd(NULL, 0);
    BERTH_REQUEST struct berth_request own = {0};
    BERTH_REQUEST struct berth_request asked = {0};
    BERTH_REQUEST struct berth_request job = {0};
    int command;

    fill(flag, options);
    command = read_options(argc, argv, options, given, &own, err);
    if (command < 0 || berth_defaults_job(getenv(BERTH_JOB_VARIABLE), &job, err) < 0 ||
        berth_defaults_take(environ, &nothing, directory, &asked, err) < 0 ||
        berth_request_put_over(ret, &job, err) < 0 ||
        berth_request_put_over(ret, &asked, err) < 0 ||
        berth_request_put_over(ret, &own, err) < 0)
        return -1;
    return command;
}

int berth_cli_request(int argc, char **argv, const char *flag, bool *ret_flag,
                      struct berth_request *ret, char ***ret_command)
{
    bool given[OPTIONS] = {false};
    struct berth_err err;
    int command = read_request(argc, argv, flag, given, ret, &err);

    if (command < 0)
        return berth_cli_misused(&err);
    if (given[HELP])
        return BERTH_CLI_HELP;
    if (berth_request_check(ret, &err) < 0)
        return berth_cli_misused(&err);
    if (!ret->image) {
        berth_err_set(&err,
                      "%s: no image; give --container-image, or set "
                      "BERTH_CONTAINER_IMAGE",
                      argv[0]);
        return berth_cli_misused(&err);
    }
    if (command == argc && !ret->entrypoint)
        return BERTH_CLI_USAGE;
    if (flag)
        *ret_flag = given[FLAG];
    *ret_command = argv + command;
    return EXIT_SUCCESS;
}

void berth_cli_print_options(void)
{
    for (int i = 0; i < BERTH_OPTION_COUNT; i++) {
        const struct berth_option *option = &berth_options[i];

        if (berth_option_is_optional(option))
            printf("  --%s[=%s\n", option->name, option->argument + 1);
        else
            printf("  --%s%s%s\n", option->name, option->argument ? "=" : "",
                   option->argument ? option->argument : "");
        printf("      %s\n", option->help);
    }
}
