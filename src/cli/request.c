/* SPDX-License-Identifier: Apache-2.0 */
/* From a command line to a request, as srun reads it. */

#include "cli/request.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "plan/defaults.h"
#include "plan/option.h"

extern char **environ;

enum { FLAGS_MAX = 8 };

/* Our options for getopt_long(3), numbered from 1 as the table is, and then FLAGS. */
static void fill(const char *const *flags, struct option *options)
{
    int at = 0;

    for (; at < BERTH_OPTION_COUNT; at++)
        options[at] = (struct option){
            .name = berth_options[at].name,
            .has_arg = berth_option_is_optional(&berth_options[at]) ? optional_argument
                       : berth_options[at].argument                 ? required_argument
                                                                    : no_argument,
            .val = at + 1,
        };
    for (int i = 0; flags[i] && i < FLAGS_MAX; i++, at++)
        options[at] = (struct option){.name = flags[i], .val = at + 1};
    options[at] = (struct option){0};
}

static int refuse(char **argv, struct berth_err *err)
{
    char letter[] = {'-', (char)optopt, '\0'};
    const char *word = optopt < ' ' ? argv[optind - 1] : letter;

    return berth_err_set(err, "%s: '%s' is no option of it; see berth %s --help",
                         argv[0], word, argv[0]);
}

static int read_options(int argc, char **argv, const struct option *options,
                        unsigned int *ret_flags, struct berth_request *ret,
                        struct berth_err *err)
{
    BERTH_FREE char *directory = getcwd(NULL, 0);
    int found;

    *ret_flags = 0;
    opterr = 0;
    while ((found = getopt_long(argc, argv, "+:", options, NULL)) != -1) {
        int id = found - 1;

        if (found == ':')
            return berth_err_set(err, "%s: '%s' needs a value", argv[0],
                                 argv[optind - 1]);
        if (found == '?')
            return refuse(argv, err);
        if (id >= BERTH_OPTION_COUNT)
            *ret_flags |= 1U << (id - BERTH_OPTION_COUNT);
        else if (berth_request_take(ret, (enum berth_option_id)id, optarg, directory,
                                    err) < 0)
            return berth_err_at(err, "--%s", berth_options[id].name);
    }
    return optind;
}

int berth_cli_request(int argc, char **argv, const char *const *flags,
                      unsigned int *ret_flags, struct berth_request *ret,
                      struct berth_err *err)
{
    struct option options[BERTH_OPTION_COUNT + FLAGS_MAX + 1];
    struct berth_strvec nothing = {0};
    BERTH_FREE char *directory = getcwd(NULL, 0);
    BERTH_REQUEST struct berth_request own = {0};
    BERTH_REQUEST struct berth_request asked = {0};
    BERTH_REQUEST struct berth_request job = {0};
    BERTH_REQUEST struct berth_request defaults = {0};
    int command;

    fill(flags, options);
    command = read_options(argc, argv, options, ret_flags, &own, err);
    if (command < 0 || berth_defaults_job(getenv(BERTH_JOB_VARIABLE), &job, err) < 0 ||
        berth_defaults_take(environ, &nothing, directory, &asked, err) < 0 ||
        berth_request_merge(&job, &asked, &defaults, err) < 0 ||
        berth_request_merge(&defaults, &own, ret, err) < 0)
        return -1;
    return command;
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
