/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "step/stageroot.h"

/* Facts about files, for later steps of a user on a node: a file facts/HASH in the
 * user's directory for stages, which only the user may write. It is only a cache: a
 * file that is damaged or not the user's alone counts as missing, a file that cannot be
 * written is not written, and no function here reports an error.
 *
 * A fact is bytes under a key. The key holds the identities of the files that the fact
 * depends on, so that a fact of what has changed is not found. */

struct berth_factcache_fact;

/* Made by berth_factcache_open(). Functions accept NULL: no cache, in which nothing is
 * found. */
struct berth_factcache {
    const struct berth_stage_root *root; /* borrowed */
    struct berth_buf start;              /* the first lines of the file */
    struct berth_buf stored;             /* the file, as it was */
    struct berth_factcache_fact *facts;  /* in it */
    size_t count, room;
    size_t next; /* the fact that is probably asked for next */
    int fresh;   /* memory with the facts that were put; children have it too */
};

/* The most files that a user has, and bytes of a file; the files that were not used for
 * the longest time are removed. */
enum { BERTH_FACTCACHE_FILES = 24, BERTH_FACTCACHE_SIZE = 4 << 20 };

/* Reads the facts about SUBJECT (a line of text) that are stored below ROOT by this
 * program. The caller ends with berth_factcache_fini(). */
void berth_factcache_open(const struct berth_stage_root *root, const char *subject,
                          struct berth_factcache *ret);

/* The fact under KEY, valid as long as the cache; NULL: not known. */
const char *berth_factcache_get(struct berth_factcache *cache, const char *key,
                                size_t *ret_count);

/* Puts FACT under KEY, for later steps. A child may do so for its parent. */
void berth_factcache_put(struct berth_factcache *cache, const char *key,
                         const struct berth_buf *fact);

/* Stores what was put. */
void berth_factcache_save(const struct berth_factcache *cache);

void berth_factcache_fini(struct berth_factcache *cache);

/* Appends to KEY the path of a file, and its identity: size, times and inode. Not the
 * device, which in a container is another for each mount. Follows links; what is not
 * there has an identity, too. */
void berth_factcache_identify(const char *path, struct berth_buf *key);
