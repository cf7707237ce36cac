/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* The place of a pull in a cache or store (image/store.h): CACHE/work/NAME, where NAME
 * is from berth_uri_name(). There are `lock` and, while a pull runs or after it was
 * killed, `part` (the new image) and `layers` (with which the next pull continues).
 * Start with `= BERTH_CACHE_NONE`, end with berth_cache_fini(). */
struct berth_cache {
    char *path;
    int dir;
    int lock;
};

#define BERTH_CACHE_NONE                                                               \
    {                                                                                  \
        .dir = -1, .lock = -1                                                          \
    }

/* Find the image of URI in the user's cache as berth_store_look() does. Makes no
 * directory. Returns -1 with a sentence in ERR if others than the user can write to the
 * cache. */
int berth_cache_find(const char *cache, const char *uri, const char *machine,
                     char **ret_file, struct berth_err *err);

/* Open the cache itself, which may be a symbolic link. Returns a descriptor, or -1 with
 * a sentence in ERR, also if others than the user can write there; sets *RET_MISSING
 * (may be NULL) as berth_tree_open() does. */
int berth_cache_directory(const char *cache, int *ret_missing, struct berth_err *err);

/* Open the directory of NAME, and make it and those above it if they do not exist.
 * Returns 0, or -1 with a sentence in ERR, also if others than the user can write
 * there. */
int berth_cache_open(const char *cache, const char *name, struct berth_cache *ret,
                     struct berth_err *err);

/* Lock out other pulls of the image URI, on all hosts that have the file system, until
 * berth_cache_fini() or the end of the process. If another pull has the lock, say that
 * (base/progress.h), and wait. Returns 0, or -1 with a sentence in ERR. */
int berth_cache_lock(struct berth_cache *cache, int terminal,
                     void (*say)(const char *sentence), const char *uri,
                     struct berth_err *err);

/* The list of manifests that a runtime keeps with the layers of an OCI image. */
#define BERTH_CACHE_MANIFESTS "layers/cache/blob/index.json"

/* Holding the lock: make an empty `part`, and remove from `layers` what would hide
 * which manifest the next pull reads. Returns 0, or -1 with a sentence in ERR. */
int berth_cache_begin(const struct berth_cache *cache, struct berth_err *err);

/* Holding the lock: remove `part`, and `layers` if KEEP says so. */
enum berth_cache_keep { BERTH_CACHE_KEEP_LAYERS, BERTH_CACHE_KEEP_NOTHING };
void berth_cache_drop(const struct berth_cache *cache, enum berth_cache_keep keep);

void berth_cache_fini(struct berth_cache *cache);

#define BERTH_CACHE __attribute__((cleanup(berth_cache_fini)))
