/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/syntax.h"

/* Reads a site's files by a table of their keys. */

struct berth_reading;

struct berth_key {
    const char *path; /* SECTION.KEY, or KEY */
    int (*parse)(const struct berth_reading *reading, const struct berth_key *key,
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
                 const struct berth_node
                     *node);     /* called for each key in the file; may be NULL */
    void *into;                  /* what is read */
    struct berth_strvec *faults; /* `FILE:LINE: KEY: ...` for each */
};

/* Reads the SIZE bytes of the file. Each error of a key's PARSE is a fault, and so is
 * an unknown key. On success the caller owns *RET_ROOT (berth_node_fini), which is
 * empty where the file could not be read. */
void berth_reading_read(const struct berth_reading *reading, const char *bytes,
                        size_t size, struct berth_node *ret_root);

/* Adds to the faults the sentence in ERR about PATH ("": the file) on LINE. */
void berth_reading_add_fault(const struct berth_reading *reading, unsigned int line,
                             const char *path, struct berth_err *err);

/* The address of the field at OFFSET in what is read. */
void *berth_reading_field(const struct berth_reading *reading, size_t offset);

/* Sets in ERR that NODE is not EXPECTED. Always returns -1. */
int berth_reading_mismatch(const struct berth_node *node, const char *expected,
                           struct berth_err *err);

/* Is NODE one value that KEY can have? */
int berth_reading_check(const struct berth_key *key, const struct berth_node *node,
                        struct berth_err *err);

/* Which of its words KEY has in NODE, in *RET_AT. */
int berth_reading_find_word(const struct berth_key *key, const struct berth_node *node,
                            unsigned int *ret_at, struct berth_err *err);
