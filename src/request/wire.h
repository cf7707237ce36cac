/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "request/components.h"
#include "request/request.h"

/* The text of requests in a variable of the environment: from sbatch to the sruns in
 * the job, from srun to the nodes, and from the plugin to berth-task.
 *
 *     request    fields               image=/a.sif&env=A%3D1
 *     table      1;GROUP:fields;...;.
 *
 * GROUP is a het group, `*` (all) or, with --multi-prog, `/` and ranks;
 * `=:env=A%3D1` before a row has what this row and those after it carry (`restore`,
 * `job` and `is_one_file` of struct berth_row); a row without a container needs nothing
 * of it. The point at the end shows that nothing was cut off. The form is that of
 * base/fields.h. The key of a field is the name of the option without "container-";
 * after a pulled image there is `uri`, and `world` is not an option. A reader checks
 * each value like a user's. */

/* The most bytes of requests, and of what rows carry. Linux allows 128 KiB for one
 * string (MAX_ARG_STRLEN). */
#define BERTH_WIRE_MAX 65536

/* The sentence for a text of USED bytes, of which MOST can be sent. Always returns -1.
 */
int berth_wire_refuse(size_t used, size_t most, struct berth_err *err);

/* Appends the fields of REQUEST to BUF. The caller checks the `failed` of BUF. */
void berth_wire_put_request(struct berth_buf *buf, const struct berth_request *request);

/* Reads the fields TEXT. On success the caller owns *RET (berth_request_fini). */
int berth_wire_get_request(const char *text, struct berth_request *ret,
                           struct berth_err *err);

/* Writes TABLE; if all components are equal, as one row `*`. On success
 * the caller frees *RET_TEXT. Returns -1 out of memory, or with a sentence in ERR for
 * more than BERTH_WIRE_MAX. */
int berth_wire_put_table(const struct berth_table *table, char **ret_text,
                         struct berth_err *err);

/* Reads the table TEXT. On success the caller owns *RET (berth_table_fini). */
int berth_wire_get_table(const char *text, struct berth_table *ret,
                         struct berth_err *err);
