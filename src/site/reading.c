/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the tree of a file by the table of its keys. Knows no key itself. */

#include "site/reading.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/choice.h"
#include "base/suggest.h"

void berth_reading_add_fault(const struct berth_reading *reading, unsigned int line,
                             const char *path, struct berth_err *err)
{
    berth_err_at(err, *path ? "%s:%u: %s" : "%s:%u", reading->file, line, path);
    berth_strvec_push(reading->faults, err->text);
}

int berth_reading_mismatch(const struct berth_node *node, const char *expected,
                           struct berth_err *err)
{
    if (node->kind == BERTH_NODE_SCALAR)
        return berth_err_expected(err, expected, node->text);
    return berth_err_set(err, "expected %s, got %s", expected,
                         node->kind == BERTH_NODE_LIST ? "a list" : "a section");
}

void *berth_reading_field(const struct berth_reading *reading, size_t offset)
{
    return (char *)reading->into + offset;
}

int berth_reading_check(const struct berth_key *key, const struct berth_node *node,
                        struct berth_err *err)
{
    return node->kind == BERTH_NODE_SCALAR
               ? key->check(node->text, err)
               : berth_reading_mismatch(node, "one value", err);
}

int berth_reading_list(const struct berth_reading *reading, const struct berth_key *key,
                       const struct berth_node *node, struct berth_strvec *ret,
                       struct berth_err *err)
{
    struct berth_err why;

    if (node->kind != BERTH_NODE_LIST)
        return berth_reading_mismatch(node, "a list", err);
    for (size_t i = 0; i < node->count; i++) {
        const struct berth_node *item = &node->items[i];

        if (berth_reading_check(key, item, &why) < 0) {
            berth_reading_add_fault(reading, item->line, key->path, &why);
            continue;
        }
        berth_strvec_push(ret, item->text);
        if (reading->note)
            reading->note(reading, key, item, item->text);
    }
    reading->faults->failed |= ret->failed;
    return 0;
}

int berth_reading_find_word(const struct berth_key *key, const struct berth_node *node,
                            unsigned int *ret_at, struct berth_err *err)
{
    int at = node->kind == BERTH_NODE_SCALAR ? berth_choice_find(key->words, node->text)
                                             : -1;
    BERTH_BUF struct berth_buf expected = {0};

    if (at < 0) {
        berth_choice_list(key->words, key->check ? "a list of patterns" : NULL,
                          &expected);
        return expected.failed ? berth_err_oom(err)
                               : berth_reading_mismatch(node, expected.text, err);
    }
    *ret_at = (unsigned int)at;
    return 0;
}

int berth_reading_choice(const struct berth_reading *reading,
                         const struct berth_key *key, const struct berth_node *node,
                         struct berth_err *err)
{
    return berth_reading_find_word(key, node, berth_reading_field(reading, key->field),
                                   err);
}

/* Is the key PATH in SECTION, of LENGTH bytes? Each key is in the section "". */
static bool is_below(const char *path, const char *section, size_t length)
{
    return strncmp(path, section, length) == 0 && (length == 0 || path[length] == '.');
}

static const struct berth_key *find_key(const struct berth_key *keys, const char *path)
{
    const struct berth_key *key = keys;

    while (key->path && strcmp(key->path, path) != 0)
        key++;
    return key->path ? key : NULL;
}

/* Sets a sentence in ERR: SECTION has no key NAME, and which key the user may mean. */
static int unknown(const struct berth_key *keys, const char *section, const char *name,
                   struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec names = {0};
    size_t length = strlen(section);
    const char *dot = strchr(name, '.');

    if (dot && find_key(keys, name))
        return berth_err_set(err, "'%s' is not a key here; write it as %s: below %.*s:",
                             name, dot + 1, (int)(dot - name), name);

    for (const struct berth_key *key = keys; key->path; key++) {
        const char *rest = key->path + (length ? length + 1 : 0);

        if (!is_below(key->path, section, length))
            continue;
        if (names.count &&
            strncmp(names.items[names.count - 1], rest, strcspn(rest, ".")) == 0)
            continue;
        berth_strvec_pushf(&names, "%.*s", (int)strcspn(rest, "."), rest);
    }
    if (names.failed || !names.count)
        return berth_err_oom(err);
    return berth_suggest(name, "a key here", (const char *const *)names.items, err);
}

static bool is_section(const struct berth_key *keys, const char *name)
{
    for (const struct berth_key *key = keys; key->path; key++)
        if (is_below(key->path, name, strlen(name)) && *name)
            return true;
    return false;
}

/* Reads NODE, a key in SECTION; "": outside of sections. */
static void read_key(const struct berth_reading *reading, const char *section,
                     const struct berth_node *node)
{
    BERTH_BUF struct berth_buf path = {0};
    const struct berth_key *key;
    struct berth_err err;

    berth_buf_addf(&path, "%s%s%s", section, *section ? "." : "", node->key);
    if (path.failed) {
        reading->faults->failed = true;
        return;
    }
    key = strchr(node->key, '.') ? NULL : find_key(reading->keys, path.text);
    if (!key) {
        unknown(reading->keys, section, node->key, &err);
        berth_reading_add_fault(reading, node->line, section, &err);
        return;
    }
    if (reading->note)
        reading->note(reading, key, node, "");
    if (key->parse(reading, key, node, &err) < 0)
        berth_reading_add_fault(reading, node->line, key->path, &err);
}

/* Reads NODE, which is SECTION; "": the whole file with its sections. */
static void read_section(const struct berth_reading *reading, const char *section,
                         const struct berth_node *node)
{
    struct berth_err err;

    if (berth_node_is_empty(node)) /* all its keys are commented out */
        return;
    if (node->kind != BERTH_NODE_MAP) {
        berth_reading_mismatch(node,
                               *section ? "a section of KEY: VALUE lines"
                                        : "sections of KEY: VALUE lines",
                               &err);
        berth_reading_add_fault(reading, node->line, section, &err);
        return;
    }
    for (size_t i = 0; i < node->count; i++) {
        const struct berth_node *item = &node->items[i];

        if (!*section && is_section(reading->keys, item->key))
            read_section(reading, item->key, item);
        else
            read_key(reading, section, item);
    }
}

void berth_reading_read(const struct berth_reading *reading, const char *bytes,
                        size_t size, struct berth_node *ret_root)
{
    struct berth_err why;

    if (berth_syntax_read(reading->file, bytes, size, ret_root, reading->faults, &why) <
        0)
        berth_strvec_push(reading->faults, why.text);
    else
        read_section(reading, "", ret_root);
}
