/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* The user's images from registries: CACHE/NAME/N.sif, where NAME is berth_uri_name()'s
 * and the highest N was pulled last. An image is never replaced: a job that has one
 * open on another host would lose it (NFS). Beside them, of a pull that is under way or
 * was killed: `part`, and `layers`, which the next pull goes on with; and `lock`. */

/* One URI's directory in the cache. Start with `= BERTH_CACHE_NONE`. */
struct berth_cache {
    char *path;
    int dir;
    int lock;
};

#define BERTH_CACHE_NONE                                                               \
    {                                                                                  \
        .dir = -1, .lock = -1                                                          \
    }

/* The image in the directory of NAME that was pulled last and is whole, in *RET_FILE,
 * which the caller frees; NULL when there is none. Makes nothing. Returns 0; -1 with a
 * sentence in ERR when others than the user could have put it there. */
int berth_cache_find(const char *cache, const char *name, char **ret_file,
                     struct berth_err *err);

/* Make the directory of NAME, the user's own, where it is not there, and open it. */
int berth_cache_open(const char *cache, const char *name, struct berth_cache *ret,
                     struct berth_err *err);

/* Keep out every other pull of the image, on any host that has the file system; the
 * lock ends with the process. When it is another's, ON_WAIT(URI) is called before the
 * wait. */
int berth_cache_lock(struct berth_cache *cache, void (*on_wait)(const char *uri),
                     const char *uri, struct berth_err *err);

/* With the lock: make an empty `part`, whatever was there. */
int berth_cache_begin(const struct berth_cache *cache, struct berth_err *err);

/* With the lock: FILE of `part` becomes the image that was pulled last, whose path the
 * caller frees; `part` and `layers` go. */
int berth_cache_end(const struct berth_cache *cache, const char *file, char **ret_file,
                    struct berth_err *err);

/* With the lock: `part` goes, and maybe what the next pull could go on with. */
enum berth_cache_keep { BERTH_CACHE_KEEP_LAYERS, BERTH_CACHE_KEEP_NOTHING };
void berth_cache_drop(const struct berth_cache *cache, enum berth_cache_keep keep);

void berth_cache_fini(struct berth_cache *cache);

#define BERTH_CACHE __attribute__((cleanup(berth_cache_fini)))
