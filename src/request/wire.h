/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "request/components.h"
#include "request/request.h"

/* How requests travel in an environment variable: from sbatch to the sruns inside, from
 * srun to the nodes, and from the plugin to berth-task.
 *
 *     requests   fields               image=/a.sif&env=A%3D1
 *     table      1;GROUP:fields;...;. GROUP is a het group, `*` (all), `?` (unknown)
 * or, with --multi-prog, `/` and ranks; the point says that nothing was cut off
 *
 * The form is that of base/fields.h. A field is an option's name without "container-"
 * and its value, or, behind an image that was pulled, `uri` and its URI. Decoding
 * trusts nothing: it checks each value like a user's. */

/* Bytes of the longest text. Linux takes 128 KiB for one string (MAX_ARG_STRLEN). */
#define BERTH_WIRE_MAX 65536

/* The advice when a variable has an unexpected text. */
#define BERTH_VARIABLE_ADVICE                                                          \
    "; do not set it by hand, and have one release of berth on all hosts"

/* Append the fields of REQUEST to BUF. */
void berth_wire_put_request(struct berth_buf *buf, const struct berth_request *request);

/* Read fields. On success the caller owns *RET. */
int berth_wire_get_request(const char *text, struct berth_request *ret,
                           struct berth_err *err);

/* Write TABLE; equal rows become one `*` row. On success the caller frees *RET_TEXT.
 * Returns 0, or -1 with a sentence when it is longer than BERTH_WIRE_MAX. */
int berth_wire_put_table(const struct berth_table *table, char **ret_text,
                         struct berth_err *err);

/* Read a table. On success the caller owns *RET (berth_table_fini). */
int berth_wire_get_table(const char *text, struct berth_table *ret,
                         struct berth_err *err);

/* The same for a table whose requests hold nothing but `env`, each NAME=VALUE. */
int berth_wire_put_environment(const struct berth_table *table, char **ret_text,
                               struct berth_err *err);
int berth_wire_get_environment(const char *text, struct berth_table *ret,
                               struct berth_err *err);
