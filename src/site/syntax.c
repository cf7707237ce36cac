/* SPDX-License-Identifier: Apache-2.0 */
/* Parses YAML into a tree with line numbers. Decides which parts of YAML a
 * configuration file may use: no anchors, aliases and tags. Knows no key. */

#include "site/syntax.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/cleanup.h"
#include "base/grow.h"

/* No real file has so many; a file could use up memory. */
enum { NODES_MAX = 4096 };

struct reading {
    yaml_parser_t parser;
    const char *file;
    const char *bytes;
    size_t size;
    size_t nodes;
    struct berth_strvec *faults;
};

static void cleanup_event(yaml_event_t *event)
{
    yaml_event_delete(event);
}

#define EVENT __attribute__((cleanup(cleanup_event)))

static unsigned int line_of(const yaml_event_t *event)
{
    return (unsigned int)event->start_mark.line + 1;
}

static int at(const struct reading *reading, unsigned int line, struct berth_err *err)
{
    return berth_err_at(err, "%s:%u", reading->file, line);
}

/* The line at OFFSET: the parser does not count lines in bytes that it cannot decode.
 */
static unsigned int line_at(const struct reading *reading, size_t offset)
{
    unsigned int line = 1;

    for (size_t i = 0; i < offset && i < reading->size; i++)
        line += reading->bytes[i] == '\n';
    return line;
}

/* Does the indentation of LINE, from 1, have a tab? */
static bool has_tab(const struct reading *reading, size_t line)
{
    const char *text = reading->bytes;
    const char *end = text + reading->size;

    while (text && --line > 0) {
        text = memchr(text, '\n', (size_t)(end - text));
        text = text ? text + 1 : NULL;
    }
    while (text && text < end && (*text == ' ' || *text == '-'))
        text++;
    return text && text < end && *text == '\t';
}

static int explain(const struct reading *reading, struct berth_err *err)
{
    const yaml_parser_t *parser = &reading->parser;
    const char *problem = parser->problem ? parser->problem : "no YAML";
    size_t line = parser->problem_mark.line + 1;

    if (parser->error == YAML_MEMORY_ERROR)
        return berth_err_oom(err);
    if (parser->error == YAML_READER_ERROR) {
        berth_err_set(err, "the file is not UTF-8 text (%s); save it as UTF-8",
                      problem);
        return at(reading, line_at(reading, parser->problem_offset), err);
    }
    if (has_tab(reading, line))
        berth_err_set(err, "a tab in the indentation; YAML wants blanks there");
    else if (parser->context)
        berth_err_set(err, "not YAML: %s (%s); check indentation, quotes and colons",
                      problem, parser->context);
    else
        berth_err_set(err, "not YAML: %s; check indentation, quotes and colons",
                      problem);
    return at(reading, (unsigned int)line, err);
}

static int next(struct reading *reading, yaml_event_t *ret, struct berth_err *err)
{
    if (!yaml_parser_parse(&reading->parser, ret)) {
        *ret = (yaml_event_t){0};
        return explain(reading, err);
    }
    return 0;
}

static int refuse_form(const char *sign, const yaml_char_t *name, struct berth_err *err)
{
    return berth_err_set(err, "'%s%s' is not plain YAML; write the value itself", sign,
                         (const char *)name);
}

/* Refuses an alias, and a value with an anchor or a tag. */
static int refuse_indirection(const yaml_event_t *event, struct berth_err *err)
{
    const yaml_char_t *anchor = NULL;
    const yaml_char_t *tag = NULL;

    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return refuse_form("*", event->data.alias.anchor, err);
    case YAML_SCALAR_EVENT:
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
        break;
    default:
        break;
    }
    if (anchor)
        return refuse_form("&", anchor, err);
    if (tag)
        return refuse_form("", tag, err);
    return 0;
}

/* Appends *ITEM to NODE, which owns it from then on. */
static int append(struct berth_node *node, struct berth_node *item,
                  struct berth_err *err)
{
    if (berth_grow(&node->items, node->count, &node->room, sizeof(*item)) < 0)
        return berth_err_oom(err);
    node->items[node->count++] = *item;
    *item = (struct berth_node){0};
    return 0;
}

static int read_scalar(const yaml_event_t *event, struct berth_node *ret,
                       struct berth_err *err)
{
    const char *value = (const char *)event->data.scalar.value;

    if (strlen(value) != event->data.scalar.length)
        return berth_err_set(err, "a text with a NUL in it; leave it out");
    ret->kind = BERTH_NODE_SCALAR;
    ret->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    ret->text = strdup(value);
    return ret->text ? 0 : berth_err_oom(err);
}

static int read_node(struct reading *reading, const yaml_event_t *event, int depth,
                     struct berth_node *ret, struct berth_err *err);

static int read_list(struct reading *reading, int depth, struct berth_node *list,
                     struct berth_err *err)
{
    for (;;) {
        EVENT yaml_event_t event = {0};
        BERTH_NODE struct berth_node item = {0};

        if (next(reading, &event, err) < 0)
            return -1;
        if (event.type == YAML_SEQUENCE_END_EVENT)
            return 0;
        if (read_node(reading, &event, depth, &item, err) < 0 ||
            append(list, &item, err) < 0)
            return -1;
    }
}

static int check_key(const yaml_event_t *event, struct berth_err *err)
{
    if (refuse_indirection(event, err) < 0)
        return -1;
    if (event->type != YAML_SCALAR_EVENT)
        return berth_err_set(err, "expected a name, then ':'");
    return 0;
}

/* Appends *ITEM to MAP. If MAP has the key, reports that, and appends the items of
 * *ITEM that the first value, also a map, does not have. */
static int append_once(const struct reading *reading, struct berth_node *map,
                       struct berth_node *item, struct berth_err *err)
{
    struct berth_node *other = (struct berth_node *)berth_node_find(map, item->key);
    struct berth_err twice;

    if (!other)
        return append(map, item, err);
    berth_err_set(&twice, "%s: given twice, first on line %u; keep one", other->key,
                  other->line);
    at(reading, item->line, &twice);
    berth_strvec_push(reading->faults, twice.text);
    for (size_t i = 0; i < item->count; i++)
        if (other->kind == BERTH_NODE_MAP && item->kind == BERTH_NODE_MAP &&
            !berth_node_find(other, item->items[i].key) &&
            append(other, &item->items[i], err) < 0)
            return -1;
    return 0;
}

static int read_map(struct reading *reading, int depth, struct berth_node *map,
                    struct berth_err *err)
{
    for (;;) {
        EVENT yaml_event_t key = {0};
        EVENT yaml_event_t value = {0};
        BERTH_NODE struct berth_node item = {0};
        BERTH_NODE struct berth_node name = {0};

        if (next(reading, &key, err) < 0)
            return -1;
        if (key.type == YAML_MAPPING_END_EVENT)
            return 0;
        if (check_key(&key, err) < 0 || read_scalar(&key, &name, err) < 0)
            return at(reading, line_of(&key), err);
        if (next(reading, &value, err) < 0 ||
            read_node(reading, &value, depth, &item, err) < 0)
            return -1;
        item.line = line_of(&key);
        item.key = berth_steal(&name.text);
        if (append_once(reading, map, &item, err) < 0)
            return -1;
    }
}

static int check_size(struct reading *reading, int depth, struct berth_err *err)
{
    if (depth > BERTH_SYNTAX_DEPTH)
        return berth_err_set(err, "more than %d %s; shorten the file",
                             BERTH_SYNTAX_DEPTH, "levels");
    if (++reading->nodes > NODES_MAX)
        return berth_err_set(err, "more than %d %s; shorten the file", NODES_MAX,
                             "values");
    return 0;
}

/* Reads the value that starts with EVENT, DEPTH levels down. */
static int read_node(struct reading *reading, const yaml_event_t *event, int depth,
                     struct berth_node *ret, struct berth_err *err)
{
    ret->line = line_of(event);
    if (refuse_indirection(event, err) < 0 || check_size(reading, depth, err) < 0)
        return at(reading, ret->line, err);
    switch (event->type) {
    case YAML_SEQUENCE_START_EVENT:
        ret->kind = BERTH_NODE_LIST;
        return read_list(reading, depth + 1, ret, err);
    case YAML_MAPPING_START_EVENT:
        ret->kind = BERTH_NODE_MAP;
        return read_map(reading, depth + 1, ret, err);
    default:
        return read_scalar(event, ret, err) < 0 ? at(reading, ret->line, err) : 0;
    }
}

/* Reads the only document; a second is an error. */
static int read_stream(struct reading *reading, struct berth_node *ret,
                       struct berth_err *err)
{
    bool found = false;

    for (;;) {
        EVENT yaml_event_t event = {0};

        if (next(reading, &event, err) < 0)
            return -1;
        switch (event.type) {
        case YAML_STREAM_START_EVENT:
        case YAML_DOCUMENT_END_EVENT:
            break;
        case YAML_STREAM_END_EVENT:
            return 0;
        case YAML_DOCUMENT_START_EVENT:
            if (found) {
                berth_err_set(err, "a second document ('---'); expected one");
                return at(reading, line_of(&event), err);
            }
            break;
        default:
            found = true;
            if (read_node(reading, &event, 0, ret, err) < 0)
                return -1;
        }
    }
}

int berth_syntax_read(const char *file, const char *bytes, size_t size,
                      struct berth_node *ret, struct berth_strvec *faults,
                      struct berth_err *err)
{
    struct reading reading = {
        .file = file, .bytes = bytes, .size = size, .faults = faults};
    BERTH_NODE struct berth_node root = {.kind = BERTH_NODE_MAP, .line = 1};
    int result;

    if (size > BERTH_SYNTAX_BYTES)
        return berth_err_set(err, "%s: more than %d %s; shorten the file", file,
                             BERTH_SYNTAX_BYTES, "bytes");
    if (!yaml_parser_initialize(&reading.parser))
        return berth_err_oom(err);
    yaml_parser_set_encoding(&reading.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reading.parser, (const unsigned char *)bytes, size);
    result = read_stream(&reading, &root, err);
    yaml_parser_delete(&reading.parser);
    if (result < 0)
        return -1;
    *ret = root;
    root = (struct berth_node){0};
    return 0;
}

const struct berth_node *berth_node_find(const struct berth_node *node, const char *key)
{
    for (size_t i = 0; i < node->count; i++)
        if (strcmp(node->items[i].key, key) == 0)
            return &node->items[i];
    return NULL;
}

bool berth_node_is_empty(const struct berth_node *node)
{
    return node->kind == BERTH_NODE_SCALAR && !node->quoted &&
           (!*node->text || strcmp(node->text, "~") == 0 ||
            strcmp(node->text, "null") == 0);
}

void berth_node_fini(struct berth_node *node)
{
    for (size_t i = 0; i < node->count; i++)
        berth_node_fini(&node->items[i]);
    free(node->items);
    free(node->key);
    free(node->text);
    *node = (struct berth_node){0};
}
