/* SPDX-License-Identifier: Apache-2.0 */
/* Writes structures as text for an environment variable, and reads them back. */

#include "base/fields.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/strvec.h"
#include "base/text.h"

static bool is_plain(unsigned char c)
{
    return isalnum(c) || (c != '\0' && strchr("-_.:,/", c));
}

/* Append KEY and what comes between it and the field before. */
static void put_key(struct berth_buf *buf, size_t start, const char *key)
{
    if (buf->used > start)
        berth_buf_puts(buf, "&");
    berth_buf_puts(buf, key);
    berth_buf_puts(buf, "=");
}

void berth_field_put(struct berth_buf *buf, size_t start, const char *key,
                     const char *value)
{
    put_key(buf, start, key);
    for (; *value; value++) {
        unsigned char c = (unsigned char)*value;

        if (is_plain(c))
            berth_buf_add(buf, value, 1);
        else
            berth_buf_addf(buf, "%%%02X", c);
    }
}

/* Returns the member of RECORD that FIELD describes. */
static void *member(const void *record, const struct berth_field *field)
{
    return (char *)record + field->offset;
}

static void put_list(struct berth_buf *buf, size_t start, const char *key,
                     const struct berth_strvec *list)
{
    for (size_t i = 0; i < list->count; i++)
        berth_field_put(buf, start, key, list->items[i]);
    buf->failed |= list->failed;
}

/* Append NUMBER, unless it is ABSENT. */
static void put_number(struct berth_buf *buf, size_t start, const char *key, int number,
                       int absent)
{
    if (number == absent)
        return;
    put_key(buf, start, key);
    berth_buf_addf(buf, "%d", number);
}

/* Append the member of RECORD that FIELD describes. */
static void put_member(struct berth_buf *buf, size_t start,
                       const struct berth_field *field, const void *record)
{
    const void *it = member(record, field);
    const char *text;

    switch (field->kind) {
    case BERTH_FIELD_TEXT:
        text = *(char *const *)it;
        if (text)
            berth_field_put(buf, start, field->key, text);
        return;
    case BERTH_FIELD_LIST:
        put_list(buf, start, field->key, it);
        return;
    case BERTH_FIELD_FLAG:
        if (*(const bool *)it)
            berth_field_put(buf, start, field->key, "");
        return;
    case BERTH_FIELD_NUMBER:
        put_number(buf, start, field->key, *(const int *)it, 0);
        return;
    case BERTH_FIELD_DESCRIPTOR:
        put_number(buf, start, field->key, *(const int *)it, -1);
        return;
    default:
        return;
    }
}

void berth_fields_put(struct berth_buf *buf, const struct berth_field *table,
                      const void *record)
{
    size_t start = buf->used;

    for (const struct berth_field *field = table; field->key; field++)
        put_member(buf, start, field, record);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The byte that the escape %XX at TEXT is; 0: it is malformed, or is NUL. */
static int escaped_byte(const char *text)
{
    int high = hex_value(text[1]);
    int low;

    if (high < 0) /* text[1] may be the end */
        return 0;
    low = hex_value(text[2]);
    if (low < 0)
        return 0;
    return high * 16 + low;
}

/* Decode VALUE in place. Returns false for a malformed or NUL escape. */
static bool decode(char *value)
{
    const char *from = value;
    char *to = value;

    while (*from) {
        if (*from == '%') {
            int byte = escaped_byte(from);

            if (byte == 0)
                return false;
            *to = (char)byte;
            from += strlen("%XX");
        } else {
            *to = *from;
            from++;
        }
        to++;
    }
    *to = '\0';
    return true;
}

int berth_field_next(char **next, char **ret_key, char **ret_value,
                     struct berth_err *err)
{
    char *key = strsep(next, "&");
    char *equals, *value;

    if (!key)
        return 0;
    equals = strchr(key, '=');
    if (!equals)
        return berth_err_damaged(err, "%s", key);
    *equals = '\0';
    value = equals + 1;
    if (!decode(value))
        return berth_err_damaged(err, "%s", key);
    *ret_key = key;
    *ret_value = value;
    return 1;
}

static int get_number(const char *key, const char *value, int *ret,
                      struct berth_err *err)
{
    char *end;
    long number;

    errno = 0;
    number = strtol(value, &end, 10);
    if (errno || !*value || *end)
        return berth_err_damaged(err, "%s", key);
    if (number < INT_MIN || number > INT_MAX)
        return berth_err_damaged(err, "%s", key);
    *ret = (int)number;
    return 0;
}

static int get_field(const struct berth_field *field, void *record, const char *value,
                     struct berth_err *err)
{
    void *it = member(record, field);
    struct berth_strvec *list = it;
    char **text = it;

    switch (field->kind) {
    case BERTH_FIELD_TEXT:
        free(*text);
        *text = strdup(value);
        return berth_err_oom_if(!*text, err);
    case BERTH_FIELD_LIST:
        berth_strvec_push(list, value);
        return berth_err_oom_if(list->failed, err);
    case BERTH_FIELD_FLAG:
        *(bool *)it = true;
        return 0;
    default:
        return get_number(field->key, value, it, err);
    }
}

static const struct berth_field *find_field(const struct berth_field *table,
                                            const char *key)
{
    for (const struct berth_field *field = table; field->key; field++)
        if (strcmp(field->key, key) == 0)
            return field;
    return NULL;
}

int berth_fields_get(char *text, const struct berth_field *table, void *record,
                     struct berth_err *err)
{
    char *next = *text ? text : NULL;
    char *key, *value;
    int result = berth_field_next(&next, &key, &value, err);

    while (result > 0) {
        const struct berth_field *field = find_field(table, key);

        if (!field)
            return berth_err_damaged(err, "%s", key);
        if (get_field(field, record, value, err) < 0)
            return -1;
        result = berth_field_next(&next, &key, &value, err);
    }
    return result;
}

void berth_fields_free(const struct berth_field *table, void *record)
{
    for (const struct berth_field *field = table; field->key; field++) {
        if (field->kind == BERTH_FIELD_TEXT)
            free(*(char **)member(record, field));
        if (field->kind == BERTH_FIELD_LIST)
            berth_strvec_fini(member(record, field));
    }
}

void berth_parts_label(struct berth_buf *buf, const char *label)
{
    berth_buf_addf(buf, ";%s:", label);
}

/* Does TEXT begin and end as parts do? */
static bool are_parts(const char *text)
{
    static const char start[] = BERTH_PARTS_FORM ";";
    static const char end[] = BERTH_PARTS_END;

    if (!berth_text_starts(text, start))
        return false;

    /* The semicolon of the start may be that of the end: there are no parts then. */
    return berth_text_ends(text + strlen(BERTH_PARTS_FORM), end);
}

int berth_parts_open(const char *text, size_t max, char **ret_copy, char **ret_next,
                     struct berth_err *err)
{
    const char *first;
    char *copy;

    if (strlen(text) > max || !are_parts(text))
        return berth_err_damaged(err, "%s", text);
    first = text + strlen(BERTH_PARTS_FORM);
    copy = strndup(first, strlen(first) - strlen(BERTH_PARTS_END));
    if (!copy)
        return berth_err_oom(err);
    *ret_copy = copy;
    *ret_next = copy;

    /* A part starts with a semicolon: skip the empty text before the first one. */
    strsep(ret_next, ";");
    return 0;
}

char *berth_parts_next(char **next, char **ret_fields)
{
    char *label = strsep(next, ";");
    char *colon = label ? strchr(label, ':') : NULL;

    *ret_fields = NULL;
    if (colon) {
        *colon = '\0';
        *ret_fields = colon + 1;
    }
    return label;
}
