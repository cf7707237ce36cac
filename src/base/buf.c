/* SPDX-License-Identifier: Apache-2.0 */
/* A growing text. */

#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void berth_buf_add(struct berth_buf *buf, const char *bytes, size_t count)
{
    if (buf->failed)
        return;
    if (buf->used + count + 1 > buf->room) {
        size_t room = (buf->used + count + 1) * 2;
        char *text = realloc(buf->text, room);

        if (!text) {
            buf->failed = true;
            return;
        }
        buf->text = text;
        buf->room = room;
    }
    memcpy(buf->text + buf->used, bytes, count);
    buf->used += count;
    buf->text[buf->used] = '\0';
}

void berth_buf_puts(struct berth_buf *buf, const char *text)
{
    berth_buf_add(buf, text, strlen(text));
}

void berth_buf_addf(struct berth_buf *buf, const char *format, ...)
{
    va_list list;
    char *text;
    int length;

    va_start(list, format);
    length = vasprintf(&text, format, list);
    va_end(list);
    if (length < 0) {
        buf->failed = true;
        return;
    }
    berth_buf_add(buf, text, (size_t)length);
    free(text);
}

void berth_buf_part(struct berth_buf *buf, const char *before, const char *text,
                    const char *after)
{
    if (!text || *text == '\0')
        return;
    berth_buf_puts(buf, before);
    berth_buf_puts(buf, text);
    berth_buf_puts(buf, after);
}

void berth_buf_word(struct berth_buf *buf, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-_./:=,+@%";

    if (*word && !word[strspn(word, plain)]) {
        berth_buf_puts(buf, word);
        return;
    }
    berth_buf_puts(buf, "'");
    for (; *word; word++) {
        /* Within quotes only the quote itself needs anything: end, \', begin again. */
        if (*word == '\'')
            berth_buf_puts(buf, "'\\''");
        else
            berth_buf_add(buf, word, 1);
    }
    berth_buf_puts(buf, "'");
}

void berth_buf_fini(struct berth_buf *buf)
{
    free(buf->text);
    *buf = (struct berth_buf){0};
}
