/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_REQUEST_MULTIPROG_H
#define BERTH_REQUEST_MULTIPROG_H

#include "base/err.h"
#include "base/strvec.h"

/* The text of an `srun --multi-prog` configuration (srun(1), MULTIPLE PROGRAM
 * CONFIGURATION) with PROGRAM put in front of the command on every line. Comments,
 * blank lines and continuation lines (a backslash at the end) stay as they are. On
 * success the caller frees *RET_TEXT. */
int berth_multiprog_prefix(const char *text, const char *program, char **ret_text,
                           struct berth_err *err);

/* The programs of such a text, each once and sorted, appended to RET: the first word of
 * each command that is not PREFIX. Returns 0, or -1 when out of memory. */
int berth_multiprog_programs(const char *text, const char *prefix,
                             struct berth_strvec *ret, struct berth_err *err);

#endif
