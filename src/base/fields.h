/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* Structures as text for an environment variable, and back:
 *
 *     fields   key=value&key=value
 *     parts    1;LABEL:fields;LABEL:fields;.
 *
 * In a value every byte that is not a letter, a digit or one of -_.:,/ is %XX, so that
 * the text has no blanks, quotes or newlines. 1 is the release of the form; the point
 * at the end says that nothing was cut off. */

/* What a member of a structure is, and when it has no field. */
enum berth_field_kind {
    BERTH_FIELD_END,        /* behind the last row of a table */
    BERTH_FIELD_TEXT,       /* char *, owned: NULL */
    BERTH_FIELD_LIST,       /* struct berth_strvec, a field for each string: empty */
    BERTH_FIELD_FLAG,       /* bool: false */
    BERTH_FIELD_NUMBER,     /* int or unsigned int: 0 */
    BERTH_FIELD_DESCRIPTOR, /* int: -1 */
};

/* One member. */
struct berth_field {
    const char *key;
    enum berth_field_kind kind;
    size_t offset; /* in the structure */
};

/* Append the fields of RECORD, of which TABLE has the members. Out of memory, of a list
 * too, sticks in BUF. */
void berth_fields_put(struct berth_buf *buf, const struct berth_field *table,
                      const void *record);

/* Read TEXT, which this changes, into RECORD, where members without a field stay as
 * they are. */
int berth_fields_get(char *text, const struct berth_field *table, void *record,
                     struct berth_err *err);

/* Free the texts and lists of RECORD. */
void berth_fields_free(const struct berth_field *table, void *record);

/* Append one field. The fields start at START of BUF. */
void berth_field_put(struct berth_buf *buf, size_t start, const char *key,
                     const char *value);

/* The next field of *NEXT (NULL: none), which this changes. Returns 1; 0 when there are
 * no more; -1 with a sentence in ERR. */
int berth_field_next(char **next, char **ret_key, char **ret_value,
                     struct berth_err *err);

#define BERTH_PARTS_FORM "1"
#define BERTH_PARTS_END  ";."

/* Append the LABEL of a part, whose fields are appended next. */
void berth_parts_label(struct berth_buf *buf, const char *label);

/* The parts of TEXT, which may have MAX bytes: *RET_NEXT is for berth_parts_next(). The
 * caller frees *RET_COPY. */
int berth_parts_open(const char *text, size_t max, char **ret_copy, char **ret_next,
                     struct berth_err *err);

/* The label of the next part of *NEXT, and its fields (NULL: it has no label). NULL
 * when there are no more. */
char *berth_parts_next(char **next, char **ret_fields);
