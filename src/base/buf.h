/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A growing text. `text` is NULL before the first byte and NUL-terminated after it. Out
 * of memory sets `failed`, and from then on nothing is appended. Start with `= {0}`. */
struct berth_buf {
    char *text;
    size_t used;
    size_t room;
    bool failed;
};

/* Append the COUNT bytes at BYTES, the string TEXT, or the result of FORMAT. */
void berth_buf_add(struct berth_buf *buf, const char *bytes, size_t count);
void berth_buf_puts(struct berth_buf *buf, const char *text);
void berth_buf_addf(struct berth_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns the text, "" before the first byte. It belongs to BUF, until that changes. */
static inline const char *berth_buf_text(const struct berth_buf *buf)
{
    return buf->text ? buf->text : "";
}

/* Append an optional part of a sentence: BEFORE, TEXT and AFTER; nothing if TEXT is
 * NULL or empty. */
void berth_buf_part(struct berth_buf *buf, const char *before, const char *text,
                    const char *after);

/* Append WORD as a shell takes it: in quotes, if a shell would change it otherwise. */
void berth_buf_word(struct berth_buf *buf, const char *word);

/* Free the text; the buffer can be used again, empty. */
void berth_buf_fini(struct berth_buf *buf);

#define BERTH_BUF __attribute__((cleanup(berth_buf_fini)))
