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

/* Made by berth_factcache_open(). get and put accept NULL: an empty cache that stores
 * nothing. */
struct berth_factcache {
    const struct berth_stage_root *root; /* borrowed */
    struct berth_buf start;              /* the first lines of the file */
    struct berth_buf stored;             /* the contents of the file */
    struct berth_factcache_fact *facts;  /* in the file */
    size_t count, room;
    size_t next; /* the number of the fact that is probably asked for next */
    int fresh;   /* memory with the facts that were put; children inherit it */
};

/* The most files of a user, and the most bytes of a file. The files that were not used
 * for the longest time are removed. */
enum { BERTH_FACTCACHE_FILES = 24, BERTH_FACTCACHE_SIZE = 4 << 20 };

/* Read the facts about SUBJECT (a line of text) that this version of this program has
 * stored below ROOT. The caller ends with berth_factcache_fini(). */
void berth_factcache_open(const struct berth_stage_root *root, const char *subject,
                          struct berth_factcache *ret);

/* Returns the fact under KEY, with its size in *RET_COUNT, valid as long as the cache;
 * NULL: not known. */
const char *berth_factcache_get(struct berth_factcache *cache, const char *key,
                                size_t *ret_count);

/* Put FACT under KEY, for later steps. A child may put facts that its parent saves. */
void berth_factcache_put(struct berth_factcache *cache, const char *key,
                         const struct berth_buf *fact);

/* Write the facts that were put to the file. */
void berth_factcache_save(const struct berth_factcache *cache);

void berth_factcache_fini(struct berth_factcache *cache);

/* Append to KEY the path of a file and its identity: size, times and inode, but not the
 * device, which differs for each mount in a container. Follows links. A file that is
 * missing has an identity, too. */
void berth_factcache_identify(const char *path, struct berth_buf *key);
