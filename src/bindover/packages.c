/* SPDX-License-Identifier: Apache-2.0 */
/* Modules that an interpreter loads while it runs. No loader names them when it starts,
 * and their libraries are loaded with them. */

#include "bindover/packages.h"

#include <fnmatch.h>
#include <fts.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/resolve.h"
#include "base/text.h"

enum { ENTRIES_MAX = 100000 }; /* of all directories */

struct search {
    struct berth_strvec seen; /* directories */
    struct berth_strvec *to;
    int left; /* entries to read */
};

/* All modules below DIRECTORY, once. */
static void add_below(struct search *search, const char *directory)
{
    BERTH_FREE char *real = berth_resolve(directory);
    char *const paths[] = {real, NULL};
    FTSENT *entry;
    FTS *tree;

    if (!real || berth_strvec_has(&search->seen, real))
        return;
    berth_strvec_push(&search->seen, real);
    tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL);
    while (tree && search->left-- > 0 && (entry = fts_read(tree)))
        if (entry->fts_info != FTS_D && entry->fts_info != FTS_DP &&
            (berth_text_ends(entry->fts_name, ".so") ||
             strstr(entry->fts_name, ".so.")))
            berth_strvec_push(search->to, entry->fts_path);
    if (tree)
        fts_close(tree);
}

/* The packages of the Python in PREFIX. */
static void add_prefix(struct search *search, const char *prefix)
{
    static const char *const places[] = {"lib", "lib64"};

    for (int i = 0; i < 2; i++) {
        BERTH_FREE char *pattern = NULL;
        glob_t found = {0};

        if (asprintf(&pattern, "%s/%s/python3*", prefix, places[i]) < 0) {
            search->to->failed = true;
            return;
        }
        if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
            for (size_t k = 0; k < found.gl_pathc; k++)
                add_below(search, found.gl_pathv[k]);
        globfree(&found);
    }
}

void berth_packages_list(const char *program, char *const *env,
                         struct berth_strvec *ret)
{
    struct search search = {.to = ret, .left = ENTRIES_MAX};
    const char *own = berth_environ_value(env, "PYTHONPATH");
    BERTH_FREE char *path = strdup(own ? own : "");
    BERTH_FREE char *prefix = NULL;
    char *next = path;
    char *directory;

    if (!berth_text_starts(berth_text_base(program), "python"))
        return;
    if (!path || asprintf(&prefix, "%.*s/..", (int)(berth_text_base(program) - program),
                          program) < 0) {
        ret->failed = true;
        return;
    }
    while ((directory = strsep(&next, ":")))
        if (*directory == '/')
            add_below(&search, directory);
    add_prefix(&search, prefix);
    add_prefix(&search, "/usr/local");
    add_prefix(&search, "/usr");
    ret->failed |= search.seen.failed;
    berth_strvec_fini(&search.seen);
}
