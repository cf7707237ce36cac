/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "plan/explain.h"

/* Bytes of the longest text in an account; a longer one is cut, and ends in "...".
 * Slurm prints a line of up to 1024 bytes as a whole; longer lines of components would
 * mix. */
enum { BERTH_EXPLAIN_LONGEST = 800 };

/* A copy of TEXT, cut between two characters if it is too long. The caller frees it;
 * NULL: out of memory. */
char *berth_explain_cut(const char *text);

/* Append LINES to RET, each with the number of the component, or the rank, as a prefix
 * if the step has several. Out of memory sticks in RET. */
void berth_explain_prefix(const struct berth_explain *explain,
                          const struct berth_buf *lines, struct berth_buf *ret);
