/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_CONF_READING_H
#define BERTH_CONF_READING_H

#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "conf/syntax.h"

/* Files of a site, by a table of their keys. */

struct berth_reading;

struct berth_key {
    const char *path; /* SECTION.KEY, or KEY */
    int (*take)(const struct berth_reading *reading, const struct berth_key *key,
                const struct berth_node *node, struct berth_err *err);
    int (*check)(const char *text, struct berth_err *err); /* one value (values.h) */
    const char *const *words; /* of a choice, which may be a list if CHECK is there */
    size_t field;             /* its offset in what is read */
};

/* A file that is read. */
struct berth_reading {
    const char *file;             /* as messages call it */
    const struct berth_key *keys; /* ended by a path of NULL */
    void (*note)(const struct berth_reading *reading, const struct berth_key *key,
                 const struct berth_node *node); /* that it has the key; NULL */
    void *into;                                  /* what is read */
    struct berth_strvec *faults;                 /* `FILE:LINE: KEY: ...` for each */
};

/* Read the SIZE bytes of the file: what TAKE says of a key that it has is a fault, and
 * so is what is no key. On success the caller owns *RET_ROOT (berth_node_fini), which
 * is empty where the file could not be read. */
void berth_reading_read(const struct berth_reading *reading, const char *bytes,
                        size_t size, struct berth_node *ret_root);

/* Keep what ERR says of what PATH ("": the file) has on LINE. */
void berth_reading_keep(const struct berth_reading *reading, unsigned int line,
                        const char *path, struct berth_err *err);

/* Where what is read has the value at OFFSET. */
void *berth_reading_field(const struct berth_reading *reading, size_t offset);

/* NODE is something else than the key wants. Always returns -1. */
int berth_reading_mismatch(const struct berth_node *node, const char *expected,
                           struct berth_err *err);

/* Is NODE one value that KEY can have? Returns 0, or -1 with a sentence in ERR. */
int berth_reading_check(const struct berth_key *key, const struct berth_node *node,
                        struct berth_err *err);

/* Which of its words KEY has in NODE, in *RET_AT. Returns 0, or -1 with a sentence in
 * ERR. */
int berth_reading_choose(const struct berth_key *key, const struct berth_node *node,
                         unsigned int *ret_at, struct berth_err *err);

#endif
