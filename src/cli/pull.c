/* SPDX-License-Identifier: Apache-2.0 */
/* berth pull: pulls an image from a registry into the user's cache or the store. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/request.h"
#include "cli/host.h"
#include "image/pull.h"
#include "request/uri.h"

extern char **environ;

/* Print a sentence about the pull. */
static void say(const char *sentence)
{
    fprintf(stderr, "berth: %s\n", sentence);
}

/* Print a line of the runtime. */
static bool show(const char *line)
{
    fprintf(stderr, "%s\n", line);
    return true;
}

/* How this process pulls, with the runtime, the cache and the rules of SITE. */
static struct berth_pull how(const struct berth_site *site)
{
    struct berth_pull pull = {
        .site = site,
        .env = environ,
        .terminal = -1,
        .say = say,
    };

    if (isatty(STDERR_FILENO))
        pull.terminal = STDERR_FILENO;
    return pull;
}

int berth_cli_fetch(struct berth_request *request, const struct berth_site *site,
                    struct berth_err *err)
{
    const struct berth_pull pull = how(site);

    return berth_pull_request(&pull, request, err);
}

/* Read the command line into PULL. Returns false if it is wrong. */
static bool read_line(int argc, char **argv, struct berth_pull *pull)
{
    int at = 1;

    for (; at < argc && *argv[at] == '-'; at++) {
        if (strcmp(argv[at], "--again") == 0)
            pull->again = true;
        else if (strcmp(argv[at], "--store") == 0)
            pull->to_store = true;
        else if (strcmp(argv[at], "--verbose") == 0 || strcmp(argv[at], "-v") == 0)
            pull->detail = show;
        else
            return false;
    }
    if (argc != at + 1)
        return false;
    pull->uri = argv[at];
    return true;
}

int berth_cli_pull(int argc, char **argv)
{
    BERTH_SITE struct berth_site site = {0};
    BERTH_FREE char *file = NULL;
    BERTH_FREE char *plain = NULL;
    struct berth_pull pull = how(&site);
    struct berth_err err;

    if (!read_line(argc, argv, &pull))
        return BERTH_CLI_USAGE;
    plain = berth_registry_plain(pull.uri);
    if (plain)
        pull.uri = plain;

    if (berth_site_read_here(environ, &site, &err) < 0)
        return berth_cli_fail(&err);
    if (berth_pull_image(&pull, &file, &err) < 0)
        return berth_cli_fail(&err);
    printf("%s\n", file);
    return EXIT_SUCCESS;
}
