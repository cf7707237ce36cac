/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/strvec.h"

/* The contents of a configuration file, as a tree. The only user of libyaml. */

/* No file of a site comes near these; a file made to eat memory does. */
enum {
    BERTH_SYNTAX_BYTES = 256 << 10,
    BERTH_SYNTAX_NODES = 4096,
    BERTH_SYNTAX_DEPTH = 8,
};

enum berth_node_kind { BERTH_NODE_SCALAR, BERTH_NODE_LIST, BERTH_NODE_MAP };

struct berth_node {
    enum berth_node_kind kind;
    unsigned int line;        /* the first is 1 */
    char *key;                /* in a map; else NULL */
    char *text;               /* of a scalar */
    bool quoted;              /* the scalar is quoted: '' is a text and not empty */
    struct berth_node *items; /* of a list or a map */
    size_t count;
    size_t room;
};

/* Read the SIZE bytes of a file that messages call FILE: one document of YAML in UTF-8,
 * without anchors, aliases and tags, no key twice. A file without a document is an
 * empty map. A fault that can be read past is appended to FAULTS, and what it is about
 * left out. On success the caller owns *RET. All sentences start with `FILE:LINE: `. */
int berth_syntax_read(const char *file, const char *bytes, size_t size,
                      struct berth_node *ret, struct berth_strvec *faults,
                      struct berth_err *err);

/* The item KEY of the map NODE; NULL: there is none. */
const struct berth_node *berth_node_find(const struct berth_node *node,
                                         const char *key);

/* Was nothing written (`key:`)? */
bool berth_node_is_empty(const struct berth_node *node);

void berth_node_fini(struct berth_node *node);

#define BERTH_NODE __attribute__((cleanup(berth_node_fini)))
