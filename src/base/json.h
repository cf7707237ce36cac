/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/strvec.h"

/* Levels of objects and arrays that can be open. */
#define BERTH_JSON_DEPTH 16

/* One JSON value (RFC 8259) while it is written. Every call appends a member to the
 * innermost open object or array. NAME is its key in an object, and NULL in an array
 * and for the outermost value. Out of memory, too many levels and an end without a
 * beginning set `text.failed`, which a writer checks once. Start with `= {0}`, or with
 * `.pretty`. */
struct berth_json {
    struct berth_buf text; /* without a newline at its end */
    bool pretty;           /* each member on a line of its own, indented by two */
    bool follows;          /* the next member needs a comma */
    size_t depth;
    char ends[BERTH_JSON_DEPTH];
};

/* Begin an object, begin an array, end the innermost of both. */
void berth_json_object(struct berth_json *json, const char *name);
void berth_json_array(struct berth_json *json, const char *name);
void berth_json_end(struct berth_json *json);

/* Append VALUE; NULL is written as null. Each byte that is not UTF-8 becomes U+FFFD. */
void berth_json_string(struct berth_json *json, const char *name, const char *value);

void berth_json_number(struct berth_json *json, const char *name, long long value);

void berth_json_bool(struct berth_json *json, const char *name, bool value);

/* Append an array of strings. Out of memory in VALUES is one in `text`, too. */
void berth_json_list(struct berth_json *json, const char *name,
                     const struct berth_strvec *values);

void berth_json_fini(struct berth_json *json);

#define BERTH_JSON __attribute__((cleanup(berth_json_fini)))
