/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "image/cache.h"
#include "site/site.h"

/* A pull: the image, the site's rules and the user's environment. Borrows everything.
 */
struct berth_pull {
    const char *uri;
    const struct berth_site *site;     /* which runtime, which cache, which URIs */
    char *const *env;                  /* of the user, for the runtime */
    bool again;                        /* pull it, whatever is there */
    bool to_store;                     /* into the site's store, not the cache */
    int terminal;                      /* which shows progress; -1: none */
    void (*say)(const char *sentence); /* prints that a pull begins, waits for another
                                          one, or has taken long */
    bool (*detail)(const char *line);  /* gets what the runtime says, line by line, as
                                          it does; true: shown. The others are shown
                                          on the terminal if it fails. NULL: none */
};

/* Have RUNTIME make the image of PULL into FILE, which does not exist, and show how far
 * it is. The layers stay in CACHE until the caller drops them; if this process dies,
 * what is unfinished goes, but for the layers. Returns 0, or -1 with a sentence in ERR:
 * what is left in CACHE is then for the next pull. */
int berth_convert(const struct berth_pull *pull, const struct berth_cache *cache,
                  const char *runtime, const char *file, struct berth_err *err);
