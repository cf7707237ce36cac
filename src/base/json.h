/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/strvec.h"

/* Levels of objects and arrays that can be open. */
#define BERTH_JSON_DEPTH 16

/* One JSON value (RFC 8259) as it is written. Every call appends a member to what is
 * open; NAME is its key in an object, and NULL in an array and for the outermost value.
 * Out of memory, too many levels and an end without a beginning stick in `text.failed`,
 * so that a writer asks once. Start with `= {0}`, or with `.pretty` for people. */
struct berth_json {
    struct berth_buf text; /* without a newline at its end */
    bool pretty;           /* each member on a line of its own, indented by two */
    bool follows;          /* there is a member before the next one */
    size_t depth;
    char ends[BERTH_JSON_DEPTH];
};

/* Begin an object or an array, and end what was begun last. */
void berth_json_object(struct berth_json *json, const char *name);
void berth_json_array(struct berth_json *json, const char *name);
void berth_json_end(struct berth_json *json);

/* Append VALUE; NULL is null. Bytes that are not UTF-8 become U+FFFD, one for each. */
void berth_json_string(struct berth_json *json, const char *name, const char *value);

void berth_json_number(struct berth_json *json, const char *name, long long value);
void berth_json_bool(struct berth_json *json, const char *name, bool value);

/* Append an array of strings. Out of memory in VALUES is one in `text`, too. */
void berth_json_list(struct berth_json *json, const char *name,
                     const struct berth_strvec *values);

void berth_json_fini(struct berth_json *json);

#define BERTH_JSON __attribute__((cleanup(berth_json_fini)))
