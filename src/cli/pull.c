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

static void say(const char *sentence)
{
    fprintf(stderr, "berth: %s\n", sentence);
}

static bool show(const char *line)
{
    fprintf(stderr, "%s\n", line);
    return true;
}

static struct berth_pull how(const struct berth_site *site)
{
    return (struct berth_pull){
        .site = site,
        .env = environ,
        .terminal = isatty(STDERR_FILENO) ? STDERR_FILENO : -1,
        .say = say,
    };
}

int berth_cli_fetch(struct berth_request *request, const struct berth_site *site,
                    struct berth_err *err)
{
    const struct berth_pull pull = how(site);

    return berth_pull_request(&pull, request, err);
}

int berth_cli_pull(int argc, char **argv)
{
    BERTH_SITE struct berth_site site = {0};
    BERTH_FREE char *file = NULL, *plain = NULL;
    struct berth_pull pull = how(&site);
    struct berth_err err;
    int at = 1;

    for (; at < argc && *argv[at] == '-'; at++)
        if (strcmp(argv[at], "--again") == 0)
            pull.again = true;
        else if (strcmp(argv[at], "--store") == 0)
            pull.to_store = true;
        else if (strcmp(argv[at], "--verbose") == 0 || strcmp(argv[at], "-v") == 0)
            pull.detail = show;
        else
            return BERTH_CLI_USAGE;
    if (argc != at + 1)
        return BERTH_CLI_USAGE;
    plain = berth_registry_plain(argv[at]);
    pull.uri = plain ? plain : argv[at];
    if (berth_site_read_here(environ, &site, &err) < 0 ||
        berth_pull_image(&pull, &file, &err) < 0)
        return berth_cli_fail(&err);
    printf("%s\n", file);
    return EXIT_SUCCESS;
}
