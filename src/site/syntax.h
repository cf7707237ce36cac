/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"

/* The contents of a YAML file as a tree. Only this module uses libyaml. */

/* The most bytes of a file, and the depth of its nodes. */
enum { BERTH_SYNTAX_BYTES = 256 << 10, BERTH_SYNTAX_DEPTH = 8 };

enum berth_node_kind { BERTH_NODE_SCALAR, BERTH_NODE_LIST, BERTH_NODE_MAP };

struct berth_node {
    enum berth_node_kind kind;
    unsigned int line; /* the first is 1 */
    char *key;         /* in a map; else NULL */
    char *text;        /* of a scalar */
    bool quoted;       /* the scalar is quoted: '' is then a text, and not nothing */
    struct berth_node *items; /* of a list or a map */
    size_t count;
    size_t room;
};

/* Reads the SIZE bytes of a file, FILE in messages: one document of YAML
 * in UTF-8 without anchors, aliases and tags. A file without a document is an empty
 * map. A key that is given twice is an error in ERRORS, and the first one counts. On
 * success the caller owns *RET (berth_node_fini). Returns 0, or -1 with a sentence in
 * ERR. All sentences start with `FILE:LINE: `, or with `FILE: ` for a file that is too
 * long. */
int berth_syntax_read(const char *file, const char *bytes, size_t size,
                      struct berth_node *ret, struct berth_strvec *errors,
                      struct berth_err *err);

/* The item KEY of the map NODE, which owns it; NULL: there is none. */
const struct berth_node *berth_node_find(const struct berth_node *node,
                                         const char *key);

/* Has NODE no value (`key:`, `key: ~`, `key: null`)? */
bool berth_node_is_empty(const struct berth_node *node);

void berth_node_fini(struct berth_node *node);

#define BERTH_NODE __attribute__((cleanup(berth_node_fini)))
