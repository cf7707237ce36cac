/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the longest sentence; a longer one ends in "...". */
#define BERTH_ERR_SIZE 1024

/* What a caller decides by. A sentence is for people, and nothing is decided by its
 * words: it also holds what the user has typed. */
enum berth_err_code {
    BERTH_ERR_OTHER,
    BERTH_ERR_OPTION,  /* the sentence begins with the option that is the cause */
    BERTH_ERR_OVERLAY, /* the runtime cannot use the directory for what tasks write */
    BERTH_ERR_MEMORY,  /* an allocation failed: nobody knows what the answer is */
    BERTH_ERR_CODES
};

/* Why a call could not do its work: one sentence of the form
 * `place: what is wrong; what would be right`, without a newline. Control characters
 * are shown escaped, so that user text cannot write to a terminal. A function that has
 * one as its last argument returns 0, or -1 with a sentence in it; a header says what
 * it returns only where that differs. */
struct berth_err {
    char text[BERTH_ERR_SIZE];
    enum berth_err_code code; /* BERTH_ERR_OTHER, unless berth_err_mark() says it */
};

/* Copy FROM to TO (SIZE bytes) with control characters as \xNN; what is too long ends
 * in "...". UTF-8 passes, except its control characters (U+0080 to U+009F). A text that
 * was escaped before does not change. */
void berth_err_escape(char *to, size_t size, const char *from);

/* Write the sentence; nothing if ERR is NULL. Always returns -1, so that a caller can
 * `return berth_err_set(err, ...)`. */
int berth_err_set(struct berth_err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Give the sentence in ERR a code. Always returns -1. */
int berth_err_mark(struct berth_err *err, enum berth_err_code code);

/* Puts `place: ` before the sentence in ERR, which keeps its code. Always returns -1.
 */
int berth_err_at(struct berth_err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The sentence for a value that is not EXPECTED, a noun. Always returns -1. */
int berth_err_expected(struct berth_err *err, const char *expected, const char *got);

/* The sentence for a file PATH that cannot be DONE ("read"), with the cause in errno.
 * Always returns -1. */
int berth_err_file(struct berth_err *err, const char *path, const char *done);

/* The sentence for what the kernel refuses with NUMBER, an errno: a process, memory or
 * a descriptor. Always returns -1. */
int berth_err_spent(struct berth_err *err, int number);

/* The same for a failed allocation. Always returns -1. */
int berth_err_oom(struct berth_err *err);

/* The last line of a function that fills a list or a text: 0; or, if its allocations
 * have FAILED, berth_err_oom(). */
int berth_err_oom_if(bool failed, struct berth_err *err);

/* The sentence for data that another release of berth has written, or that somebody has
 * changed; FORMAT names the part, of which 47 bytes are shown. Always returns -1. */
int berth_err_damaged(struct berth_err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
