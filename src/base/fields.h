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

/* The type of a member of a structure: the value after the colon has no field. */
enum berth_field_kind {
    BERTH_FIELD_END,        /* after the last row of a table */
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

/* Append a field for each member of RECORD that TABLE lists. Out of memory, also of a
 * list in RECORD, sets `failed` of BUF. */
void berth_fields_put(struct berth_buf *buf, const struct berth_field *table,
                      const void *record);

/* Read the fields of TEXT, which this function overwrites, into RECORD. Members without
 * a field stay as they are. The caller frees RECORD, also after an error. */
int berth_fields_get(char *text, const struct berth_field *table, void *record,
                     struct berth_err *err);

/* Free the texts and lists of RECORD. */
void berth_fields_free(const struct berth_field *table, void *record);

/* Append one field. START is where the first field begins in BUF. */
void berth_field_put(struct berth_buf *buf, size_t start, const char *key,
                     const char *value);

/* Cuts the next field off *NEXT, which this function overwrites and which is NULL at
 * the end. The key and the value stay in that text. Returns 1; 0: there are no more; -1
 * with a sentence in ERR. */
int berth_field_next(char **next, char **ret_key, char **ret_value,
                     struct berth_err *err);

#define BERTH_PARTS_FORM "1"
#define BERTH_PARTS_END  ";."

/* Append the LABEL of a part, whose fields are appended next. */
void berth_parts_label(struct berth_buf *buf, const char *label);

/* Begin to read the parts of TEXT, which may have MAX bytes: *RET_NEXT is for
 * berth_parts_next(), and points into *RET_COPY, which the caller frees. */
int berth_parts_open(const char *text, size_t max, char **ret_copy, char **ret_next,
                     struct berth_err *err);

/* Returns the label of the next part of *NEXT, and its fields in *RET_FIELDS (NULL: the
 * part has no colon). NULL: there are no more parts. */
char *berth_parts_next(char **next, char **ret_fields);
