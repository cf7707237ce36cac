/* SPDX-License-Identifier: Apache-2.0 */
/* A list of owned strings. */

#include "base/strvec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"

/* Append TEXT, which the list owns from now on; NULL: out of memory. */
static void append(struct berth_strvec *vec, char *text)
{
    if (!text) {
        vec->failed = true;
        return;
    }
    if (berth_grow(&vec->items, vec->count + 1, &vec->room, sizeof(text)) < 0) {
        free(text);
        vec->failed = true;
        return;
    }
    vec->items[vec->count] = text;
    vec->count++;
    vec->items[vec->count] = NULL;
}

void berth_strvec_push(struct berth_strvec *vec, const char *text)
{
    append(vec, strdup(text));
}

void berth_strvec_pushf(struct berth_strvec *vec, const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    append(vec, text);
}

void berth_strvec_append(struct berth_strvec *vec, const struct berth_strvec *from)
{
    vec->failed |= from->failed;
    for (size_t i = 0; i < from->count; i++)
        berth_strvec_push(vec, from->items[i]);
}

void berth_strvec_split(struct berth_strvec *vec, const char *text)
{
    const char *comma = strchr(text, ',');

    while (comma) {
        berth_strvec_pushf(vec, "%.*s", (int)(comma - text), text);
        text = comma + 1;
        comma = strchr(text, ',');
    }
    berth_strvec_push(vec, text);
}

void berth_strvec_join(const struct berth_strvec *vec, const char *separator,
                       struct berth_buf *ret)
{
    ret->failed |= vec->failed;
    for (size_t i = 0; i < vec->count; i++) {
        if (i > 0)
            berth_buf_puts(ret, separator);
        berth_buf_puts(ret, vec->items[i]);
    }
}

bool berth_strvec_has(const struct berth_strvec *vec, const char *text)
{
    for (size_t i = 0; i < vec->count; i++)
        if (strcmp(vec->items[i], text) == 0)
            return true;
    return false;
}

bool berth_strvec_equal(const struct berth_strvec *a, const struct berth_strvec *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i], b->items[i]) != 0)
            return false;
    return true;
}

void berth_strvec_push_pair(struct berth_strvec *vec, const char *key,
                            const char *value)
{
    berth_strvec_push(vec, key);
    berth_strvec_push(vec, value);
}

const char *berth_strvec_pair(const struct berth_strvec *vec, const char *key)
{
    for (size_t i = 0; i + 1 < vec->count; i += 2)
        if (strcmp(vec->items[i], key) == 0)
            return vec->items[i + 1];
    return NULL;
}

void berth_strvec_push_once(struct berth_strvec *vec, const char *text)
{
    if (!berth_strvec_has(vec, text))
        berth_strvec_push(vec, text);
}

bool berth_strvec_has_start(const struct berth_strvec *vec, const char *start)
{
    for (size_t i = 0; i < vec->count; i++)
        if (berth_text_starts(vec->items[i], start))
            return true;
    return false;
}

void berth_strvec_fini(struct berth_strvec *vec)
{
    for (size_t i = 0; i < vec->count; i++)
        free(vec->items[i]);
    free(vec->items);
    *vec = (struct berth_strvec){0};
}
