/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "site/site.h"
#include "request/request.h"

/* What is to be pulled, and for whom. */
struct berth_pull {
    const char *uri;
    const struct berth_site *site;    /* its runtime, its cache, and what it allows */
    char *const *env;                 /* the user's, and the runtime's */
    bool again;                       /* whatever the cache has: a tag may have moved */
    int terminal;                     /* that shows progress; -1: none */
    void (*on_pull)(const char *uri); /* a pull begins */
    void (*on_wait)(const char *uri); /* another is under way */
};

/* The file of an image from a registry, in *RET_FILE, which the caller frees: what the
 * cache has, else it is pulled into the cache by the runtime, by one process at a time.
 * As the calling user. */
int berth_pull(const struct berth_pull *pull, char **ret_file, struct berth_err *err);

/* If the image of REQUEST is a URI without a file, pulls it as HOW says (except for
 * HOW's uri), and makes the file the image. */
int berth_pull_request(const struct berth_pull *how, struct berth_request *request,
                       struct berth_err *err);
