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
    size_t length = utf8_length(text);

    while (length > 0) {
        text += length;
        length = utf8_length(text);
    }
    return *text == '\0';
}

/* Append the character CODE as JSON escapes it. JSON allows U+007F to U+009F, but they
 * can control a terminal. */
static void put_escaped(struct berth_buf *buf, unsigned int code)
{
    if (code == '\n')
        berth_buf_puts(buf, "\\n");
    else if (code == '\t')
        berth_buf_puts(buf, "\\t");
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

/* The code of the control character at TEXT, which has LENGTH bytes; 0: it is another
 * character. U+0080 to U+009F have two bytes, of which the second is the code. */
static unsigned int control_code(const char *text, size_t length)
{
    unsigned char first = (unsigned char)text[0];
    unsigned char second = (unsigned char)text[1];

    if (length == 1 && (first < 0x20 || first == 0x7f))
        return first;
    if (length == 2 && first == 0xc2 && second < 0xa0)
        return second;
    return 0;
}

/* Append the character at VALUE, which has LENGTH bytes (0: it is one byte that is not
 * UTF-8), for people. */
static void put_for_people(struct berth_buf *buf, const char *value, size_t length)
{
    unsigned int control = control_code(value, length);

    if (length == 0)
        put_hidden(buf, (unsigned char)*value);
    else if (control)
        put_hidden(buf, control);
    else
        berth_buf_add(buf, value, length);
}

/* The same for JSON. */
static void put_for_json(struct berth_buf *buf, const char *value, size_t length)
{
    unsigned int control = control_code(value, length);

    if (length == 0)
        berth_buf_puts(buf, "\xef\xbf\xbd"); /* U+FFFD */
    else if (control)
        put_escaped(buf, control);
    else if (*value == '"' || *value == '\\')
        put_escaped(buf, (unsigned char)*value);
    else
        berth_buf_add(buf, value, length);
}

/* Append VALUE up to END. */
static void put_characters(struct berth_json *json, const char *value, const char *end)
{
    while (value < end) {
        size_t length = utf8_length(value);

        if (json->is_text)
            put_for_people(&json->text, value, length);
        else
            put_for_json(&json->text, value, length);
        value += length > 0 ? length : 1;
    }
}

/* Is BYTE one of a character of UTF-8 after its first? */
static bool is_continued(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Append VALUE, escaped and cut. */
static void put_plain(struct berth_json *json, const char *value)
{
    size_t length = strlen(value);

    if (json->longest == 0 || length <= json->longest) {
        put_characters(json, value, value + length);
        return;
    }
    length = json->longest - strlen("...");

    /* Not within a character, which has at most three bytes after its first. */
    for (int i = 0; i < 3 && is_continued(value[length]); i++)
        length--;
    put_characters(json, value, value + length);
    berth_buf_puts(&json->text, "...");
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

/* Has NAME, KEY|LABEL, only a label, so that JSON leaves the member out? */
static bool is_for_people(const char *name)
{
    return name && *name == '|';
}

/* Write what comes between a label and its value, or between a value and its end. */
static void put_around(struct berth_json *json, const char *around)
{
    if (around)
        berth_buf_puts(&json->text, around);
}

/* Write the label of NAME. Returns whether it has one, and the value is to be written.
 */
static bool put_label(struct berth_json *json, const char *name)
{
    const char *bar = name ? strchr(name, '|') : NULL;

    if (!bar)
        return false;
    berth_buf_addf(&json->text, "  %s: ", bar + 1);
    put_around(json, json->before);
    return true;
}

static void put_key(struct berth_json *json, const char *name)
{
    berth_buf_puts(&json->text, "\"");
    put_characters(json, name, name + strcspn(name, "|"));
    berth_buf_puts(&json->text, "\":");
    if (json->pretty)
        berth_buf_puts(&json->text, " ");
}

/* Write what comes before a value: a comma, a new line, the key; in text the label.
 * Returns whether the value is to be written. */
static bool put_start(struct berth_json *json, const char *name)
{
    if (json->is_text)
        return put_label(json, name);
    if (is_for_people(name))
        return false;
    if (json->follows)
        berth_buf_puts(&json->text, ",");
    if (json->depth)
        put_line(json);
    if (name)
        put_key(json, name);
    json->follows = true;
    return true;
}

/* Write what comes after a value. */
static void put_end(struct berth_json *json)
{
    if (!json->is_text)
        return;
    put_around(json, json->after);
    berth_buf_puts(&json->text, "\n");
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
    json->ends[json->depth] = ends[1];
    json->depth++;
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

/* Append VALUES as one line for people; nothing if there are none. */
static void put_line_of(struct berth_json *json, const char *name,
                        const struct berth_strvec *values)
{
    if (values->count == 0 || !put_label(json, name))
        return;
    for (size_t i = 0; i < values->count; i++) {
        if (i > 0)
            berth_buf_puts(&json->text, ", ");
        put_plain(json, values->items[i]);
    }
    put_end(json);
}

void berth_json_list(struct berth_json *json, const char *name,
                     const struct berth_strvec *values)
{
    json->text.failed |= values->failed;
    if (json->is_text) {
        put_line_of(json, name, values);
        return;
    }
    if (is_for_people(name))
        return;
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
