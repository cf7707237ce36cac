/* SPDX-License-Identifier: Apache-2.0 */
/* berth pull: pulls an image from a registry into the user's cache or the store; berth
 * images: lists what is there. */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/request.h"
#include "cli/host.h"
#include "pull/pull.h"
#include "request/uri.h"

extern char **environ;

static void say(const char *sentence)
{
    fprintf(stderr, "berth: %s\n", sentence);
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
        else
            return BERTH_CLI_USAGE;
    if (argc != at + 1)
        return BERTH_CLI_USAGE;
    plain = berth_registry_plain(argv[at]);
    pull.uri = plain ? plain : argv[at];
    if (berth_site_read_here(environ, &site, &err) < 0 ||
        berth_pull(&pull, &file, &err) < 0)
        return berth_cli_fail(&err);
    printf("%s\n", file);
    return EXIT_SUCCESS;
}

int berth_cli_images(int argc, char **argv)
{
    const char *days = argc > 2 && strcmp(argv[1], "--unused") == 0 ? argv[2] : NULL;
    bool removes = argc == 4 && strcmp(argv[3], "--remove") == 0;
    BERTH_STRVEC struct berth_strvec words = {0};
    BERTH_SITE struct berth_site site = {0};
    BERTH_FREE char *cache = NULL;
    struct berth_pull pull = how(&site);
    struct berth_err err;

    if (days ? argc > 3 + removes || !*days || days[strspn(days, "0123456789")]
             : argc > 1)
        return BERTH_CLI_USAGE;
    if (berth_site_read_here(environ, &site, &err) < 0 ||
        berth_pull_directory(&pull, &cache, &err) < 0)
        return berth_cli_fail(&err);
    printf("      BYTES\tPULLED    \tUSED      \tIMAGE\n");
    berth_strvec_split(&words, "find,-L"); /* a link counts as its image */
    if (!removes && site.images.store && access(site.images.store, X_OK) == 0)
        berth_strvec_push(&words, site.images.store);
    if (access(cache, X_OK) == 0)
        berth_strvec_push(&words, cache);
    if (words.count == 2)
        return EXIT_SUCCESS;
    berth_strvec_split(&words, "-maxdepth,2,-type,f");
    if (days) {
        berth_strvec_push(&words, "-atime");
        berth_strvec_pushf(&words, "+%s", days);
    }
    berth_strvec_split(&words, "-printf,%11s\\t%TF\\t%AF\\t%p\\n");
    if (removes)
        berth_strvec_push(&words, "-delete");
    if (words.failed)
        return berth_cli_fail_oom();
    fflush(stdout);
    execvp(words.items[0], words.items);
    berth_err_set(&err, "images: find: %s; install findutils", strerror(errno));
    return berth_cli_fail(&err);
}
