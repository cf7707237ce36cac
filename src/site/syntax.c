/* SPDX-License-Identifier: Apache-2.0 */
/* Parses YAML into a tree with line numbers, of bounded size and depth, without
 * anchors, aliases and tags. Knows no key. */

#include "site/syntax.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text.h"

/* No real file has so many; a file could use up memory. */
enum { NODES_MAX = 4096 };

struct reading {
    yaml_parser_t parser;
    yaml_document_t document;
    const char *file;
    const char *bytes;
    size_t size;
    struct berth_strvec *errors;
};

static unsigned int line_of(const yaml_mark_t *mark)
{
    return (unsigned int)mark->line + 1;
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
        if (reading->bytes[i] == '\n')
            line++;
    return line;
}

/* The beginning of LINE, from 1; the end of the file, if it has no such line. */
static const char *find_line(const struct reading *reading, size_t line)
{
    const char *text = reading->bytes;
    const char *end = text + reading->size;

    for (size_t i = 1; i < line; i++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));

        if (!newline)
            return end;
        text = newline + 1;
    }
    return text;
}

/* Does the indentation of LINE, from 1, have a tab? */
static bool has_tab(const struct reading *reading, size_t line)
{
    const char *text = find_line(reading, line);
    const char *end = reading->bytes + reading->size;

    while (text < end && (*text == ' ' || *text == '-'))
        text++;
    return text < end && *text == '\t';
}

static int explain(const struct reading *reading, struct berth_err *err)
{
    const yaml_parser_t *parser = &reading->parser;
    const char *problem = parser->problem;
    size_t line = parser->problem_mark.line + 1;
    BERTH_BUF struct berth_buf context = {0};

    /* where libyaml is out of memory it does not always say so */
    if (parser->error == YAML_MEMORY_ERROR || !problem)
        return berth_err_oom(err);
    if (parser->error == YAML_READER_ERROR) {
        berth_err_set(err, "the file is not UTF-8 text (%s); save it as UTF-8",
                      problem);
        return at(reading, line_at(reading, parser->problem_offset), err);
    }
    berth_buf_part(&context, " (", parser->context, ")");
    if (has_tab(reading, line))
        berth_err_set(err, "a tab in the indentation; YAML wants blanks there");
    else
        berth_err_set(err, "not YAML: %s%s; check indentation, quotes and colons",
                      problem, berth_buf_text(&context));
    return at(reading, (unsigned int)line, err);
}

static int check_size(size_t count, size_t most, const char *what,
                      struct berth_err *err)
{
    if (count > most)
        return berth_err_set(err, "more than %zu %s; shorten the file", most, what);
    return 0;
}

/* The parser numbers the nodes from 1. */
static int check_node(int index, int depth, struct berth_err *err)
{
    if (check_size((size_t)depth, BERTH_SYNTAX_DEPTH, "levels", err) < 0)
        return -1;
    return check_size((size_t)index, NODES_MAX, "values", err);
}

static int copy_scalar(const yaml_node_t *from, struct berth_node *ret,
                       struct berth_err *err)
{
    const char *value = (const char *)from->data.scalar.value;

    if (strlen(value) != from->data.scalar.length)
        return berth_err_expected(err, "a text without NUL", value);
    ret->kind = BERTH_NODE_SCALAR;
    ret->quoted = from->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    ret->text = strdup(value);
    return berth_err_oom_if(!ret->text, err);
}

static int copy_node(struct reading *reading, int index, int depth,
                     struct berth_node *ret, struct berth_err *err);

static int copy_list(struct reading *reading, const yaml_node_t *from, int depth,
                     struct berth_node *list, struct berth_err *err)
{
    const yaml_node_item_t *index = from->data.sequence.items.start;

    list->kind = BERTH_NODE_LIST;
    for (; index < from->data.sequence.items.top; index++) {
        BERTH_NODE struct berth_node item = {0};

        if (copy_node(reading, *index, depth, &item, err) < 0)
            return -1;
        if (berth_append(list, &item) < 0)
            return berth_err_oom(err);
    }
    return 0;
}

/* Appends *ITEM to MAP, or reports that MAP has the key. */
static int append_once(const struct reading *reading, struct berth_node *map,
                       struct berth_node *item, struct berth_err *err)
{
    const struct berth_node *other = berth_node_find(map, item->key);
    struct berth_err twice;

    if (!other)
        return berth_err_oom_if(berth_append(map, item) < 0, err);
    berth_err_set(&twice, "%s: given twice, first on line %u; keep one", other->key,
                  other->line);
    at(reading, item->line, &twice);
    berth_strvec_push(reading->errors, twice.text);
    return 0;
}

/* Copies the key of a pair, the node INDEX of the document, to *RET. */
static int copy_key(struct reading *reading, int index, int depth,
                    struct berth_node *ret, struct berth_err *err)
{
    const yaml_node_t *key = yaml_document_get_node(&reading->document, index);

    if (check_node(index, depth, err) < 0)
        return -1;
    if (key->type != YAML_SCALAR_NODE)
        return berth_err_set(err, "expected a name, then ':'");
    return copy_scalar(key, ret, err);
}

static int copy_pair(struct reading *reading, const yaml_node_pair_t *pair, int depth,
                     struct berth_node *map, struct berth_err *err)
{
    const yaml_node_t *key = yaml_document_get_node(&reading->document, pair->key);
    BERTH_NODE struct berth_node item = {0};
    BERTH_NODE struct berth_node name = {0};

    if (copy_key(reading, pair->key, depth, &name, err) < 0)
        return at(reading, line_of(&key->start_mark), err);
    if (copy_node(reading, pair->value, depth, &item, err) < 0)
        return -1;
    item.line = line_of(&key->start_mark);
    item.key = berth_steal(&name.text);
    return append_once(reading, map, &item, err);
}

static int copy_map(struct reading *reading, const yaml_node_t *from, int depth,
                    struct berth_node *map, struct berth_err *err)
{
    const yaml_node_pair_t *pair = from->data.mapping.pairs.start;

    map->kind = BERTH_NODE_MAP;
    for (; pair < from->data.mapping.pairs.top; pair++)
        if (copy_pair(reading, pair, depth, map, err) < 0)
            return -1;
    return 0;
}

/* Copies the node INDEX of the document, DEPTH levels down. */
static int copy_node(struct reading *reading, int index, int depth,
                     struct berth_node *ret, struct berth_err *err)
{
    const yaml_node_t *from = yaml_document_get_node(&reading->document, index);

    ret->line = line_of(&from->start_mark);
    if (check_node(index, depth, err) < 0)
        return at(reading, ret->line, err);
    if (from->type == YAML_SEQUENCE_NODE)
        return copy_list(reading, from, depth + 1, ret, err);
    if (from->type == YAML_MAPPING_NODE)
        return copy_map(reading, from, depth + 1, ret, err);
    if (copy_scalar(from, ret, err) < 0)
        return at(reading, ret->line, err);
    return 0;
}

/* Reads the document that comes next into *RET. Without a document in the file *RET
 * stays as it is. */
static int read_first(struct reading *reading, struct berth_node *ret,
                      struct berth_err *err)
{
    enum { ROOT = 1 };
    int result = 0;

    if (!yaml_parser_load(&reading->parser, &reading->document))
        return explain(reading, err);
    if (yaml_document_get_root_node(&reading->document))
        result = copy_node(reading, ROOT, 0, ret, err);
    yaml_document_delete(&reading->document);
    return result;
}

/* Refuses one more document. */
static int check_last(struct reading *reading, struct berth_err *err)
{
    int result = 0;

    if (!yaml_parser_load(&reading->parser, &reading->document))
        return explain(reading, err);
    if (yaml_document_get_root_node(&reading->document)) {
        berth_err_set(err, "a second document ('---'); expected one");
        result = at(reading, line_of(&reading->document.start_mark), err);
    }
    yaml_document_delete(&reading->document);
    return result;
}

/* Has the value that EVENT begins an anchor or a tag, or is it an alias? A document
 * does not show them any more. */
static bool is_marked(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return true;
    case YAML_SCALAR_EVENT:
        return event->data.scalar.anchor || event->data.scalar.tag;
    case YAML_SEQUENCE_START_EVENT:
        return event->data.sequence_start.anchor || event->data.sequence_start.tag;
    case YAML_MAPPING_START_EVENT:
        return event->data.mapping_start.anchor || event->data.mapping_start.tag;
    default:
        return false;
    }
}

static int open_parser(struct reading *reading, struct berth_err *err)
{
    if (!yaml_parser_initialize(&reading->parser))
        return berth_err_oom(err);
    yaml_parser_set_encoding(&reading->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reading->parser,
                                 (const unsigned char *)reading->bytes, reading->size);
    return 0;
}

/* Refuses anchors, aliases and tags. What is not YAML ends the search: the reading of
 * the document reports it. */
static int check_marks(struct reading *reading, struct berth_err *err)
{
    bool is_ended = false;
    unsigned int line = 0;

    if (open_parser(reading, err) < 0)
        return -1;
    while (!is_ended && !line) {
        yaml_event_t event;

        if (!yaml_parser_parse(&reading->parser, &event))
            break;
        is_ended = event.type == YAML_STREAM_END_EVENT;
        if (is_marked(&event))
            line = line_of(&event.start_mark);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&reading->parser);
    if (!line)
        return 0;
    berth_err_set(err, "an anchor ('&'), an alias ('*') or a tag ('!') is not plain "
                       "YAML; write the value itself");
    return at(reading, line, err);
}

static int read_documents(struct reading *reading, struct berth_node *ret,
                          struct berth_err *err)
{
    int result;

    if (open_parser(reading, err) < 0)
        return -1;
    result = read_first(reading, ret, err);
    if (result == 0)
        result = check_last(reading, err);
    yaml_parser_delete(&reading->parser);
    return result;
}

int berth_syntax_read(const char *file, const char *bytes, size_t size,
                      struct berth_node *ret, struct berth_strvec *errors,
                      struct berth_err *err)
{
    struct reading reading = {
        .file = file, .bytes = bytes, .size = size, .errors = errors};
    BERTH_NODE struct berth_node root = {.kind = BERTH_NODE_MAP, .line = 1};

    if (check_size(size, BERTH_SYNTAX_BYTES, "bytes", err) < 0)
        return berth_err_at(err, "%s", file);
    if (check_marks(&reading, err) < 0 || read_documents(&reading, &root, err) < 0)
        return -1;
    *ret = berth_steal(&root);
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
    static const char *const empty[] = {"", "~", "null", NULL};

    if (node->kind != BERTH_NODE_SCALAR || node->quoted)
        return false;
    return berth_text_is_any(node->text, empty);
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
