/* SPDX-License-Identifier: Apache-2.0 */
/* berth pull: pulls an image from a registry into the user's cache or the store; berth
 * images: lists what is there. */

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
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

/* What `berth images` was asked for; a negative number: not asked. */
struct pick {
    long days; /* not used for more than that many */
    long keep; /* beyond that many GiB of what was used last */
    bool removes;
};

static int by_use(const FTSENT **one, const FTSENT **other)
{
    const time_t first = (*one)->fts_statp->st_atime;
    const time_t second = (*other)->fts_statp->st_atime;

    return (first < second) - (first > second);
}

static void print_image(const FTSENT *image)
{
    const struct stat *st = image->fts_statp;
    char pulled[16], used[16];
    struct tm tm;

    strftime(pulled, sizeof(pulled), "%F", localtime_r(&st->st_mtime, &tm));
    strftime(used, sizeof(used), "%F", localtime_r(&st->st_atime, &tm));
    printf("%11lld\t%s\t%s\t%s\n", (long long)st->st_size, pulled, used,
           image->fts_path);
}

/* List those of DIRECTORY that PICK names, the last used first, or remove them. The
 * links of its index count as their images. */
static int list(char *directory, const struct pick *pick, struct berth_err *err)
{
    char *roots[] = {directory, NULL};
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_use);
    const time_t now = time(NULL);
    long long size = 0;
    int rc = 0;

    if (!tree)
        return berth_err_oom(err);
    for (FTSENT *image; rc == 0 && (image = fts_read(tree));) {
        if (image->fts_info == FTS_D && image->fts_level > 1)
            fts_set(tree, image, FTS_SKIP);
        if (image->fts_info != FTS_F)
            continue;
        if (image->fts_level == 1)
            size += image->fts_statp->st_size;
        if ((pick->days >= 0 &&
             (now - image->fts_statp->st_atime) / 86400 <= pick->days) ||
            (pick->keep >= 0 && (image->fts_level > 1 || size >> 30 < pick->keep)))
            continue;
        print_image(image);
        if (pick->removes && unlink(image->fts_accpath) < 0)
            rc = berth_err_set(err, "images: %s: %s", image->fts_path, strerror(errno));
    }
    fts_close(tree);
    return rc;
}

int berth_cli_images(int argc, char **argv)
{
    BERTH_SITE struct berth_site site = {0};
    BERTH_FREE char *cache = NULL;
    const struct berth_pull pull = how(&site);
    struct pick pick = {.days = -1, .keep = -1};
    struct berth_err err;
    int at = 1;

    for (; at + 1 < argc; at += 2) {
        long *number = strcmp(argv[at], "--unused") == 0 ? &pick.days
                       : strcmp(argv[at], "--keep") == 0 ? &pick.keep
                                                         : NULL;
        size_t digits = strspn(argv[at + 1], "0123456789");

        if (!number || !digits || digits > 9 || argv[at + 1][digits])
            return BERTH_CLI_USAGE;
        *number = strtol(argv[at + 1], NULL, 10);
    }
    pick.removes = at > 1 && at < argc && strcmp(argv[at++], "--remove") == 0;
    if (at < argc)
        return BERTH_CLI_USAGE;
    if (berth_site_read_here(environ, &site, &err) < 0 ||
        berth_pull_directory(&pull, &cache, &err) < 0)
        return berth_cli_fail(&err);
    printf("      BYTES\tPULLED    \tUSED      \tIMAGE\n");
    if ((!pick.removes && site.images.store &&
         list(site.images.store, &pick, &err) < 0) ||
        list(cache, &pick, &err) < 0)
        return berth_cli_fail(&err);
    return EXIT_SUCCESS;
}
