/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* Every task of a step on a node meets the same fault, and the user wants one line. The
 * tasks share a pipe with one byte in it: the task that reads the byte prints the line.
 */

/* Make the pipe. Its reading end is not closed on exec, and reading never blocks.
 * Returns the descriptor, or -1 (then every task speaks). */
int berth_report_open(void);

/* May the caller print the line? FD is the descriptor, -1: always. */
int berth_report_claim(int fd);

/* Write `berth: PLACE: ` and the text of FORMAT to descriptor TO, in one piece and with
 * control characters escaped: names of nodes and images come from elsewhere. A long
 * place is cut. */
void berth_report_line(int to, const char *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same of the sentence in ERR to standard error, if this is the first fault here.
 */
void berth_report(int fd, const char *place, const struct berth_err *err);
