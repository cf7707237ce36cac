/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "container/stageroot.h"

/* Facts about files, for later steps of a user on a node: files facts/HASH in the
 * user's directory for stages, which only the user may write. It is only a cache: a
 * fact that is damaged counts as missing, one that cannot be written is not written,
 * and no function here reports an error. systemd-tmpfiles(8) removes files that are not
 * used.
 *
 * A fact is bytes under a key. The key holds the identities of the files that the fact
 * depends on, so that a fact of what has changed is not found. */

/* Made by berth_factcache_open(). get and put accept NULL: an empty cache that stores
 * nothing. */
struct berth_factcache {
    int directory; /* -1: there is none; children inherit it */
    uint64_t name; /* of a file: the start of its hash */
    uint64_t check;
};

/* Find the facts about SUBJECT (a line of text) that this version of this program has
 * stored below ROOT. The caller ends with berth_factcache_fini(). */
void berth_factcache_open(const struct berth_stage_root *root, const char *subject,
                          struct berth_factcache *ret);

/* Returns the fact under KEY, with its size in *RET_COUNT, valid as long as the
 * process; NULL: not known. */
const char *berth_factcache_get(const struct berth_factcache *cache, const char *key,
                                size_t *ret_count);

/* Store FACT under KEY, for later steps. */
void berth_factcache_put(const struct berth_factcache *cache, const char *key,
                         const struct berth_buf *fact);

void berth_factcache_fini(struct berth_factcache *cache);

/* Append to KEY the path of a file and its identity: size, times and inode, but not the
 * device, which differs for each mount in a container. Follows links. A file that is
 * missing has an identity, too. */
void berth_factcache_identify(const char *path, struct berth_buf *key);
