/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/strvec.h"

/* Levels of objects and arrays that can be open. */
#define BERTH_JSON_DEPTH 16

/* One value while it is written: as JSON (RFC 8259), or as text for people. Every call
 * appends a member to the innermost open object or array. NAME is its key in an object,
 * and NULL in an array and for the outermost value. Text has a member only if NAME is
 * `KEY|LABEL`, and then as a line `  LABEL: VALUE`; it leaves out what is not known,
 * and what is not so. JSON leaves out a member without a KEY. Out of memory, too many
 * levels and an end without a beginning set `text.failed`, which a writer checks once.
 * Start with `= {0}`, or with one of the first members. */
struct berth_json {
    bool pretty;    /* each member on a line of its own, indented by two */
    bool is_text;   /* for people */
    size_t longest; /* bytes of the longest string or line; a longer one is cut
                       between two characters, and ends in "..."; 0: no limit */
    const char *before, *after; /* of each value in text, such as the colours of a
                                   terminal; NULL: nothing */
    struct berth_buf text;      /* JSON has no newline at its end */
    bool follows;               /* the next member needs a comma */
    size_t depth;
    char ends[BERTH_JSON_DEPTH];
};

/* Begin an object, begin an array, end the innermost of both. */
void berth_json_object(struct berth_json *json, const char *name);
void berth_json_array(struct berth_json *json, const char *name);
void berth_json_end(struct berth_json *json);

/* Append VALUE; NULL is written as null. Each byte that is not UTF-8 becomes U+FFFD. In
 * text, such a byte and each control character is \xNN. */
void berth_json_string(struct berth_json *json, const char *name, const char *value);

/* Append to text alone the result of FORMAT, escaped and cut, as a line. */
void berth_json_linef(struct berth_json *json, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A VALUE below 0 is not known, and written as null. */
void berth_json_number(struct berth_json *json, const char *name, long long value);

void berth_json_bool(struct berth_json *json, const char *name, bool value);

/* Append an array of strings. Out of memory in VALUES is one in `text`, too. */
void berth_json_list(struct berth_json *json, const char *name,
                     const struct berth_strvec *values);

/* Is TEXT UTF-8 (RFC 3629)? */
bool berth_json_is_utf8(const char *text);

void berth_json_fini(struct berth_json *json);

#define BERTH_JSON __attribute__((cleanup(berth_json_fini)))
