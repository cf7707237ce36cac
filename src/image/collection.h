/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/err.h"
#include "base/strvec.h"
#include "request/uri.h"

/* What a cache or store (image/store.h) has, to list it and to remove of it. Only what
 * berth made counts: the regular files that are called NAME@sha256-DIGEST-MACHINE.sif,
 * and the symbolic links in `index` that lead to such a file. Everything else in the
 * directory is the user's. No link is followed. */

struct berth_collected {
    char *file; /* its name in the directory */
    char *uri;  /* of the file's name: without a tag */
    char *machine;
    char digest[BERTH_URI_DIGEST];
    long long bytes;
    time_t pulled, used;
    struct berth_strvec links; /* the names in `index` that lead to it */
};

/* Start with `= BERTH_COLLECTION_NONE`, end with berth_collection_fini(). */
struct berth_collection {
    int dir, index;                /* -1: is not there */
    struct berth_collected *items; /* the last used first */
    size_t count;
};

#define BERTH_COLLECTION_NONE                                                          \
    {                                                                                  \
        .dir = -1, .index = -1                                                         \
    }

/* Read the user's cache at PATH; one that is not there has no images. Files and links
 * of other users do not count. Returns 0, or -1 with a sentence in ERR, also if others
 * than the user can write to the cache, or it belongs to another user. */
int berth_collection_cache(const char *path, struct berth_collection *ret,
                           struct berth_err *err);

/* Read the store at PATH, of whatever owner; NULL: there is none. */
int berth_collection_store(const char *path, struct berth_collection *ret,
                           struct berth_err *err);

/* The URI of the link LINK, with its tag or digest. The caller frees it; NULL: out of
 * memory. */
char *berth_collection_uri(const char *link);

/* Is IMAGE the one that NAME means: its file or the path of it, its digest or at least
 * 8 digits of that, or a URI that leads to it, with or without docker://? */
bool berth_collection_means(const struct berth_collected *image, const char *name);

/* Remove from a cache what NAMES (ended by NULL) mean of IMAGE, without names all: a
 * URI is a link, and the file goes with its last link. Sets *RET_STAYS if the file has
 * other links and stays. Returns 0, or -1 with a sentence in ERR. */
int berth_collection_remove(const struct berth_collection *collection,
                            const struct berth_collected *image, char *const *names,
                            bool *ret_stays, struct berth_err *err);

void berth_collection_fini(struct berth_collection *collection);

#define BERTH_COLLECTION __attribute__((cleanup(berth_collection_fini)))
