/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* A growing list of strings, which it owns, ended by NULL like argv (`items` is NULL
 * before the first push). Out of memory sets `failed`, which a builder checks once, at
 * its end. Start with `= {0}`. */
struct berth_strvec {
    char **items;
    size_t count;
    size_t room;
    bool failed;
};

/* Append a copy of TEXT, or the result of FORMAT. */
void berth_strvec_push(struct berth_strvec *vec, const char *text);
void berth_strvec_pushf(struct berth_strvec *vec, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append the parts of TEXT between commas. */
void berth_strvec_split(struct berth_strvec *vec, const char *text);

/* Append copies of all strings of FROM. */
void berth_strvec_append(struct berth_strvec *vec, const struct berth_strvec *from);

/* Append the strings to RET, with SEPARATOR between them, and `failed` of the list. */
void berth_strvec_join(const struct berth_strvec *vec, const char *separator,
                       struct berth_buf *ret);

/* Is one of the strings TEXT? */
bool berth_strvec_has(const struct berth_strvec *vec, const char *text);

/* Do A and B have the same strings, in the same order? */
bool berth_strvec_equal(const struct berth_strvec *a, const struct berth_strvec *b);

/* Append copies of KEY and VALUE. */
void berth_strvec_push_pair(struct berth_strvec *vec, const char *key,
                            const char *value);

/* In a list of pairs (a key, its value, a key, ...) the first value of KEY; NULL: it is
 * not there. Belongs to VEC. */
const char *berth_strvec_pair(const struct berth_strvec *vec, const char *key);

/* Append a copy of TEXT if the list does not have it. */
void berth_strvec_push_once(struct berth_strvec *vec, const char *text);

/* Does one of the strings start with START? */
bool berth_strvec_has_start(const struct berth_strvec *vec, const char *start);

/* Free everything; the list can be used again, empty. */
void berth_strvec_fini(struct berth_strvec *vec);

#define BERTH_STRVEC __attribute__((cleanup(berth_strvec_fini)))
