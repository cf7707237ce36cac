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

static bool is_plain(unsigned char c)
{
    return isalnum(c) || (c != '\0' && strchr("-_.:,/", c));
}

void berth_field_put(struct berth_buf *buf, size_t start, const char *key,
                     const char *value)
{
    berth_buf_addf(buf, "%s%s=", buf->used > start ? "&" : "", key);
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

void berth_fields_put(struct berth_buf *buf, const struct berth_field *table,
                      const void *record)
{
    size_t start = buf->used;

    for (const struct berth_field *field = table; field->key; field++) {
        const void *it = member(record, field);
        const struct berth_strvec *list = it;
        const char *text = field->kind == BERTH_FIELD_TEXT ? *(char *const *)it : NULL;
        int absent = field->kind == BERTH_FIELD_DESCRIPTOR ? -1 : 0;

        if (field->kind == BERTH_FIELD_LIST) {
            for (size_t i = 0; i < list->count; i++)
                berth_field_put(buf, start, field->key, list->items[i]);
            buf->failed |= list->failed;
        } else if (text || (field->kind == BERTH_FIELD_FLAG && *(const bool *)it))
            berth_field_put(buf, start, field->key, text ? text : "");
        else if (field->kind >= BERTH_FIELD_NUMBER && *(const int *)it != absent)
            berth_buf_addf(buf, "%s%s=%d", buf->used > start ? "&" : "", field->key,
                           *(const int *)it);
    }
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Decode VALUE in place. Returns false for a malformed or NUL escape. */
static bool decode(char *value)
{
    char *to = value;

    for (; *value; value++) {
        int high, low;

        if (*value != '%') {
            *to++ = *value;
            continue;
        }
        high = hex_value(value[1]);
        low = high < 0 ? -1 : hex_value(value[2]);
        if (low < 0 || high * 16 + low == 0)
            return false;
        *to++ = (char)(high * 16 + low);
        value += 2;
    }
    *to = '\0';
    return true;
}

int berth_field_next(char **next, char **ret_key, char **ret_value,
                     struct berth_err *err)
{
    char *key = strsep(next, "&");
    char *value = key ? strchr(key, '=') : NULL;

    if (!key)
        return 0;
    if (!value)
        return berth_err_damaged(err, "%s", key);
    *value++ = '\0';
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
    if (errno || !*value || *end || number < INT_MIN || number > INT_MAX)
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

int berth_fields_get(char *text, const struct berth_field *table, void *record,
                     struct berth_err *err)
{
    char *next = *text ? text : NULL;
    char *key, *value;
    int result;

    while ((result = berth_field_next(&next, &key, &value, err)) > 0) {
        const struct berth_field *field = table;

        while (field->key && strcmp(field->key, key) != 0)
            field++;
        if (!field->key)
            return berth_err_damaged(err, "%s", key);
        if (get_field(field, record, value, err) < 0)
            return -1;
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

int berth_parts_open(const char *text, size_t max, char **ret_copy, char **ret_next,
                     struct berth_err *err)
{
    static const char end[] = BERTH_PARTS_END;
    size_t length = strlen(text);
    size_t form = strcspn(text, ";");

    if (length > max || form != strlen(BERTH_PARTS_FORM) ||
        strncmp(text, BERTH_PARTS_FORM, form) != 0 || length < form + strlen(end) ||
        strcmp(text + length - strlen(end), end) != 0)
        return berth_err_damaged(err, "%s", text);
    *ret_copy = *ret_next = strndup(text + form, length - form - strlen(end));
    if (!*ret_copy)
        return berth_err_oom(err);
    strsep(ret_next, ";"); /* the first part starts with a semicolon: skip the empty
                              text before it */
    return 0;
}

char *berth_parts_next(char **next, char **ret_fields)
{
    char *label = strsep(next, ";");
    char *colon = label ? strchr(label, ':') : NULL;

    if (colon)
        *colon++ = '\0';
    *ret_fields = colon;
    return label;
}
