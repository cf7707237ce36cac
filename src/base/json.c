/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON: commas, indentation, and strings that every parser accepts. */

#include "base/json.h"

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

/* Escape one character. JSON allows U+007F to U+009F, but they can control a terminal.
 */
static void put_escaped(struct berth_buf *buf, unsigned int code)
{
    if (code == '\n' || code == '\t')
        berth_buf_puts(buf, code == '\n' ? "\\n" : "\\t");
    else if (code == '"' || code == '\\')
        berth_buf_addf(buf, "\\%c", (char)code);
    else
        berth_buf_addf(buf, "\\u%04x", code);
}

static void put_string(struct berth_buf *buf, const char *value)
{
    berth_buf_puts(buf, "\"");
    while (*value) {
        size_t length = utf8_length(value);
        unsigned char first = (unsigned char)value[0];
        unsigned char second = (unsigned char)value[1];

        if (length == 0)
            berth_buf_puts(buf, "\xef\xbf\xbd");
        else if (length == 1 &&
                 (first < 0x20 || first == 0x7f || first == '"' || first == '\\'))
            put_escaped(buf, first);
        else if (length == 2 && first == 0xc2 && second < 0xa0)
            put_escaped(buf, second);
        else
            berth_buf_add(buf, value, length);
        value += length ? length : 1;
    }
    berth_buf_puts(buf, "\"");
}

static void put_line(struct berth_json *json)
{
    if (!json->pretty)
        return;
    berth_buf_puts(&json->text, "\n");
    for (size_t i = 0; i < json->depth; i++)
        berth_buf_puts(&json->text, "  ");
}

/* Write what comes before a value: a comma, a new line, the key. */
static void put_start(struct berth_json *json, const char *name)
{
    if (json->follows)
        berth_buf_puts(&json->text, ",");
    if (json->depth)
        put_line(json);
    if (name) {
        put_string(&json->text, name);
        berth_buf_puts(&json->text, json->pretty ? ": " : ":");
    }
    json->follows = true;
}

static void put_begin(struct berth_json *json, const char *name, const char *ends)
{
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
    put_start(json, name);
    if (value)
        put_string(&json->text, value);
    else
        berth_buf_puts(&json->text, "null");
}

void berth_json_number(struct berth_json *json, const char *name, long long value)
{
    put_start(json, name);
    berth_buf_addf(&json->text, "%lld", value);
}

void berth_json_bool(struct berth_json *json, const char *name, bool value)
{
    put_start(json, name);
    berth_buf_puts(&json->text, value ? "true" : "false");
}

void berth_json_list(struct berth_json *json, const char *name,
                     const struct berth_strvec *values)
{
    json->text.failed |= values->failed;
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
