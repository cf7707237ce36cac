/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"
#include "site/syntax.h"

/* Reads the files of a site, berth.yaml and profiles, by tables of their keys. */

struct berth_reading;

struct berth_key {
    const char *path; /* SECTION.KEY, or KEY */
    int (*parse)(const struct berth_reading *reading, const struct berth_key *key,
                 const struct berth_node *node, struct berth_err *err);
    int (*check)(const char *text,
                 struct berth_err *err); /* of one value (request/values.h) */
    const char *words; /* of a choice (base/choice.h); with CHECK also a list is
                          allowed */
    size_t field;      /* its offset in the struct at INTO */
};

/* The reading of one file. Borrows everything. */
struct berth_reading {
    const char *file;             /* as messages call it */
    const struct berth_key *keys; /* ended by a path of NULL */
    /* Called for each known key in the file, with NODE and "", and for each item of its
     * list; may be NULL. */
    void (*note)(const struct berth_reading *reading, const struct berth_key *key,
                 const struct berth_node *node, const char *item);
    void *into;                  /* the struct with the fields of the keys */
    struct berth_strvec *errors; /* a sentence `FILE:LINE: KEY: ...` for each */
};

/* Reads the SIZE bytes of the file. What a key's PARSE refuses is an error, and so is
 * an unknown key. The caller owns *RET_ROOT (berth_node_fini), which starts as `{0}`
 * and stays empty if the file is not YAML. */
void berth_reading_read(const struct berth_reading *reading, const char *bytes,
                        size_t size, struct berth_node *ret_root);

/* Adds to the errors the sentence in ERR about the key PATH ("": about the file) on
 * LINE. A failed allocation (BERTH_ERR_MEMORY) is not one of the file: it sets `failed`
 * of the errors. */
void berth_reading_add_error(const struct berth_reading *reading, unsigned int line,
                             const char *path, struct berth_err *err);

/* The address of the field at OFFSET in the struct at INTO. */
void *berth_reading_field(const struct berth_reading *reading, size_t offset);

/* Sets a sentence in ERR: EXPECTED, and what NODE is. Always returns -1. */
int berth_reading_mismatch(const struct berth_node *node, const char *expected,
                           struct berth_err *err);

/* Checks that NODE is one value, and a value of KEY. */
int berth_reading_check(const struct berth_key *key, const struct berth_node *node,
                        struct berth_err *err);

/* Appends the items of NODE, a list, that are values of KEY to RET, and reports the
 * error of each other one. */
int berth_reading_list(const struct berth_reading *reading, const struct berth_key *key,
                       const struct berth_node *node, struct berth_strvec *ret,
                       struct berth_err *err);

/* Finds NODE among the words of KEY; *RET_AT is the index. */
int berth_reading_find_word(const struct berth_key *key, const struct berth_node *node,
                            unsigned int *ret_at, struct berth_err *err);

/* For PARSE of a key: sets the field, an enumeration, to the index of NODE. */
int berth_reading_choice(const struct berth_reading *reading,
                         const struct berth_key *key, const struct berth_node *node,
                         struct berth_err *err);
