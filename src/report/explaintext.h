/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "report/explain.h"

/* A text longer than this is cut in an account, and ends in "...": Slurm hands on lines
 * of up to 1024 bytes in one piece, and several components write at once. */
enum { BERTH_EXPLAIN_LONGEST = 800 };

/* A copy of TEXT, cut if it is too long, but not inside a character. The caller frees
 * it; NULL: out of memory. */
char *berth_explain_cut(const char *text);

/* Append LINES to RET, each with the component, or the rank, in front where that is
 * needed. */
void berth_explain_prefix(const struct berth_explain *explain,
                          const struct berth_buf *lines, struct berth_buf *ret);
