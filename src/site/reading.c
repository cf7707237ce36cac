/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the tree of a file by the table of its keys. Knows no key itself. */

#include "site/reading.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/choice.h"
#include "base/suggest.h"

void berth_reading_add_error(const struct berth_reading *reading, unsigned int line,
                             const char *path, struct berth_err *err)
{
    /* Nobody can mend that in the file. */
    if (err->code == BERTH_ERR_MEMORY) {
        reading->errors->failed = true;
        return;
    }
    if (*path)
        berth_err_at(err, "%s:%u: %s", reading->file, line, path);
    else
        berth_err_at(err, "%s:%u", reading->file, line);
    berth_strvec_push(reading->errors, err->text);
}

int berth_reading_mismatch(const struct berth_node *node, const char *expected,
                           struct berth_err *err)
{
    const char *got = node->kind == BERTH_NODE_LIST ? "a list" : "a section";

    if (node->kind == BERTH_NODE_SCALAR)
        return berth_err_expected(err, expected, node->text);
    return berth_err_set(err, "expected %s, got %s", expected, got);
}

void *berth_reading_field(const struct berth_reading *reading, size_t offset)
{
    return (char *)reading->into + offset;
}

int berth_reading_check(const struct berth_key *key, const struct berth_node *node,
                        struct berth_err *err)
{
    if (node->kind != BERTH_NODE_SCALAR)
        return berth_reading_mismatch(node, "one value", err);
    return key->check(node->text, err);
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
            berth_reading_add_error(reading, item->line, key->path, &why);
            continue;
        }
        berth_strvec_push(ret, item->text);
        if (reading->note)
            reading->note(reading, key, item, item->text);
    }
    reading->errors->failed |= ret->failed;
    return 0;
}

int berth_reading_find_word(const struct berth_key *key, const struct berth_node *node,
                            unsigned int *ret_at, struct berth_err *err)
{
    const char *other = key->check ? "a list of patterns" : NULL;
    BERTH_BUF struct berth_buf expected = {0};
    int at = -1;

    if (node->kind == BERTH_NODE_SCALAR)
        at = berth_choice_find(key->words, node->text);
    if (at >= 0) {
        *ret_at = (unsigned int)at;
        return 0;
    }
    berth_choice_list(key->words, other, &expected);
    if (expected.failed)
        return berth_err_oom(err);
    return berth_reading_mismatch(node, expected.text, err);
}

int berth_reading_choice(const struct berth_reading *reading,
                         const struct berth_key *key, const struct berth_node *node,
                         struct berth_err *err)
{
    return berth_reading_find_word(key, node, berth_reading_field(reading, key->field),
                                   err);
}

/* The part of the key PATH that is below SECTION; NULL: the key is not in it. Each key
 * is in the section "". */
static const char *below(const char *path, const char *section)
{
    size_t length = strlen(section);

    if (length == 0)
        return path;
    if (strncmp(path, section, length) != 0 || path[length] != '.')
        return NULL;
    return path + length + 1;
}

static const struct berth_key *find_key(const struct berth_key *keys, const char *path)
{
    for (const struct berth_key *key = keys; key->path; key++)
        if (strcmp(key->path, path) == 0)
            return key;
    return NULL;
}

/* Lists the names of the keys and sections in SECTION. */
static void list_names(const struct berth_key *keys, const char *section,
                       struct berth_strvec *ret)
{
    for (const struct berth_key *key = keys; key->path; key++) {
        const char *rest = below(key->path, section);
        BERTH_BUF struct berth_buf name = {0};

        if (!rest)
            continue;
        berth_buf_add(&name, rest, strcspn(rest, "."));
        ret->failed |= name.failed;
        if (name.text)
            berth_strvec_push_once(ret, name.text);
    }
}

/* Sets a sentence in ERR: SECTION has no key NAME, and which key the user may mean. */
static int unknown(const struct berth_key *keys, const char *section, const char *name,
                   struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec names = {0};
    const char *dot = strchr(name, '.');

    if (dot && find_key(keys, name))
        return berth_err_set(err, "'%s' is not a key here; write it as %s: below %.*s:",
                             name, dot + 1, (int)(dot - name), name);
    list_names(keys, section, &names);
    if (names.failed || names.count == 0)
        return berth_err_oom(err);
    return berth_suggest(name, "a key here", (const char *const *)names.items, err);
}

static bool is_section(const struct berth_key *keys, const char *name)
{
    if (!*name)
        return false;
    for (const struct berth_key *key = keys; key->path; key++)
        if (below(key->path, name))
            return true;
    return false;
}

/* Reads NODE, a key in SECTION; "": outside of sections. */
static void read_key(const struct berth_reading *reading, const char *section,
                     const struct berth_node *node)
{
    BERTH_BUF struct berth_buf path = {0};
    const struct berth_key *key = NULL;
    struct berth_err err;

    berth_buf_part(&path, "", section, ".");
    berth_buf_puts(&path, node->key);
    if (path.failed) {
        reading->errors->failed = true;
        return;
    }

    /* A name with a dot is not one: `runtime.path: ...` is not a section. */
    if (!strchr(node->key, '.'))
        key = find_key(reading->keys, path.text);
    if (!key) {
        unknown(reading->keys, section, node->key, &err);
        berth_reading_add_error(reading, node->line, section, &err);
        return;
    }
    if (reading->note)
        reading->note(reading, key, node, "");
    if (key->parse(reading, key, node, &err) < 0)
        berth_reading_add_error(reading, node->line, key->path, &err);
}

/* Reads NODE, which is SECTION; "": the whole file with its sections. */
static void read_section(const struct berth_reading *reading, const char *section,
                         const struct berth_node *node)
{
    struct berth_err err;

    if (berth_node_is_empty(node)) /* all its keys are commented out */
        return;
    if (node->kind != BERTH_NODE_MAP) {
        const char *expected =
            *section ? "a section of KEY: VALUE lines" : "sections of KEY: VALUE lines";

        berth_reading_mismatch(node, expected, &err);
        berth_reading_add_error(reading, node->line, section, &err);
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
    struct berth_strvec *errors = reading->errors;
    struct berth_err why;

    if (berth_syntax_read(reading->file, bytes, size, ret_root, errors, &why) == 0)
        read_section(reading, "", ret_root);
    else if (why.code == BERTH_ERR_MEMORY)
        errors->failed = true;
    else
        berth_strvec_push(errors, why.text);
}
