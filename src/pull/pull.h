/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_PULL_PULL_H
#define BERTH_PULL_PULL_H

#include <stdbool.h>

#include "base/err.h"

/* What is to be pulled, and for whom. */
struct berth_pull {
    const char *uri;
    const char *cache;              /* the site's images.cache; NULL: the default */
    const char *runtime;            /* the site's; NULL: one is found */
    char *const *env;               /* the user's, and the runtime's */
    bool again;                     /* whatever the cache has: a tag may have moved */
    int terminal;                   /* that shows progress; -1: none */
    void (*tells)(const char *uri); /* a pull begins */
    void (*waits)(const char *uri); /* another is under way */
};

/* The file of an image from a registry, in *RET_FILE, which the caller frees: what the
 * cache has, else it is pulled into the cache by the runtime, by one process at a time.
 * As the calling user. Returns 0, or -1 with a sentence in ERR. */
int berth_pull(const struct berth_pull *pull, char **ret_file, struct berth_err *err);

/* The file in the cache; NULL when it is not there. Makes and pulls nothing; reads of
 * PULL only uri, cache and env. Returns 0, or -1 with a sentence in ERR. */
int berth_pull_find(const struct berth_pull *pull, char **ret_file,
                    struct berth_err *err);

#endif
