/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a value as JSON (commas, indentation, and strings that every parser accepts),
 * or as lines for people. */

#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* Returns the length of the UTF-8 character (RFC 3629) at TEXT, 1 to 4; 0: not UTF-8.
 */
static size_t utf8_length(const char *text)
{
    static const struct {
        unsigned char first, last;   /* of the first byte */
        unsigned char least, utmost; /* of the second byte */
        size_t length;
    } forms[] = {
        {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2},
        {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
        {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    const unsigned char *bytes = (const unsigned char *)text;

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (bytes[0] < forms[i].first || bytes[0] > forms[i].last)
            continue;
        if (forms[i].length > 1 &&
            (bytes[1] < forms[i].least || bytes[1] > forms[i].utmost))
            return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if ((bytes[k] & 0xc0) != 0x80)
                return 0;
        return forms[i].length;
    }
    return 0;
}

bool berth_json_is_utf8(const char *text)
{
    size_t length;

    while ((length = utf8_length(text)))
        text += length;
    return !*text;
}

/* Append the character CODE as JSON escapes it. JSON allows U+007F to U+009F, but they
 * can control a terminal. */
static void put_escaped(struct berth_buf *buf, unsigned int code)
{
    if (code == '\n' || code == '\t')
        berth_buf_puts(buf, code == '\n' ? "\\n" : "\\t");
    else if (code == '"' || code == '\\')
        berth_buf_addf(buf, "\\%c", (char)code);
    else
        berth_buf_addf(buf, "\\u%04x", code);
}

/* Append CODE, a control character or a byte that is not UTF-8, for people. */
static void put_hidden(struct berth_buf *buf, unsigned int code)
{
    if (code == '\n')
        berth_buf_puts(buf, "\\n");
    else
        berth_buf_addf(buf, "\\x%02x", code);
}

/* Append VALUE up to END. */
static void put_characters(struct berth_json *json, const char *value, const char *end)
{
    struct berth_buf *buf = &json->text;

    while (value < end) {
        size_t length = utf8_length(value);
        unsigned char first = (unsigned char)value[0];
        unsigned char second = (unsigned char)value[1];
        bool is_c1 = length == 2 && first == 0xc2 && second < 0xa0;
        bool is_control = length == 1 && (first < 0x20 || first == 0x7f);

        if (json->is_text && (length == 0 || is_control || is_c1))
            put_hidden(buf, is_c1 ? second : first);
        else if (length == 0)
            berth_buf_puts(buf, "\xef\xbf\xbd");
        else if (is_control || is_c1 ||
                 (!json->is_text && (first == '"' || first == '\\')))
            put_escaped(buf, is_c1 ? second : first);
        else
            berth_buf_add(buf, value, length);
        value += length ? length : 1;
    }
}

/* Append VALUE, escaped and cut. */
static void put_plain(struct berth_json *json, const char *value)
{
    size_t length = strlen(value);
    bool is_cut = json->longest && length > json->longest;

    if (is_cut) {
        length = json->longest - strlen("...");
        for (int i = 0; i < 3 && ((unsigned char)value[length] & 0xc0) == 0x80; i++)
            length--;
    }
    put_characters(json, value, value + length);
    berth_buf_puts(&json->text, is_cut ? "..." : "");
}

static void put_string(struct berth_json *json, const char *value)
{
    berth_buf_puts(&json->text, "\"");
    put_plain(json, value);
    berth_buf_puts(&json->text, "\"");
}

void berth_json_linef(struct berth_json *json, const char *format, ...)
{
    BERTH_FREE char *line = NULL;
    va_list args;

    if (!json->is_text)
        return;
    va_start(args, format);
    if (vasprintf(&line, format, args) < 0)
        line = NULL;
    va_end(args);
    put_plain(json, line ? line : "");
    berth_buf_puts(&json->text, "\n");
    json->text.failed |= !line;
}

static void put_line(struct berth_json *json)
{
    if (!json->pretty)
        return;
    berth_buf_puts(&json->text, "\n");
    for (size_t i = 0; i < json->depth; i++)
        berth_buf_puts(&json->text, "  ");
}

/* Write what comes before a value: a comma, a new line, the key; in text the label.
 * Returns whether the value is to be written. */
static bool put_start(struct berth_json *json, const char *name)
{
    size_t key = name ? strcspn(name, "|") : 0;

    if (json->is_text) {
        if (name && name[key])
            berth_buf_addf(&json->text, "  %s: ", name + key + 1);
        return name && name[key];
    }
    if (name && key == 0 && name[key])
        return false;
    if (json->follows)
        berth_buf_puts(&json->text, ",");
    if (json->depth)
        put_line(json);
    if (name) {
        berth_buf_puts(&json->text, "\"");
        put_characters(json, name, name + key);
        berth_buf_puts(&json->text, json->pretty ? "\": " : "\":");
    }
    json->follows = true;
    return true;
}

/* Write what comes after a value. */
static void put_end(struct berth_json *json)
{
    berth_buf_puts(&json->text, json->is_text ? "\n" : "");
}

static void put_begin(struct berth_json *json, const char *name, const char *ends)
{
    if (json->is_text)
        return;
    put_start(json, name);
    if (json->depth >= BERTH_JSON_DEPTH) {
        json->text.failed = true;
        return;
    }
    berth_buf_add(&json->text, ends, 1);
    json->ends[json->depth++] = ends[1];
    json->follows = false;
}

void berth_json_object(struct berth_json *json, const char *name)
{
    put_begin(json, name, "{}");
}

void berth_json_array(struct berth_json *json, const char *name)
{
    put_begin(json, name, "[]");
}

void berth_json_end(struct berth_json *json)
{
    if (json->is_text)
        return;
    if (json->depth == 0) {
        json->text.failed = true;
        return;
    }
    json->depth--;
    if (json->follows)
        put_line(json);
    berth_buf_add(&json->text, &json->ends[json->depth], 1);
    json->follows = true;
}

void berth_json_string(struct berth_json *json, const char *name, const char *value)
{
    if ((json->is_text && !value) || !put_start(json, name))
        return;
    if (json->is_text)
        put_plain(json, value);
    else if (value)
        put_string(json, value);
    else
        berth_buf_puts(&json->text, "null");
    put_end(json);
}

void berth_json_number(struct berth_json *json, const char *name, long long value)
{
    if ((json->is_text && value < 0) || !put_start(json, name))
        return;
    if (value < 0)
        berth_buf_puts(&json->text, "null");
    else
        berth_buf_addf(&json->text, "%lld", value);
    put_end(json);
}

void berth_json_bool(struct berth_json *json, const char *name, bool value)
{
    if ((json->is_text && !value) || !put_start(json, name))
        return;
    if (json->is_text)
        berth_buf_puts(&json->text, "yes");
    else
        berth_buf_puts(&json->text, value ? "true" : "false");
    put_end(json);
}

void berth_json_list(struct berth_json *json, const char *name,
                     const struct berth_strvec *values)
{
    json->text.failed |= values->failed;
    if (json->is_text || (name && *name == '|')) {
        if (values->count == 0 || !put_start(json, name))
            return;
        for (size_t i = 0; i < values->count; i++) {
            berth_buf_puts(&json->text, i ? ", " : "");
            put_plain(json, values->items[i]);
        }
        put_end(json);
        return;
    }
    berth_json_array(json, name);
    for (size_t i = 0; i < values->count; i++)
        berth_json_string(json, NULL, values->items[i]);
    berth_json_end(json);
}

void berth_json_fini(struct berth_json *json)
{
    berth_buf_fini(&json->text);
    *json = (struct berth_json){0};
}
