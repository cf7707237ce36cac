/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"

/* One line for an error that all tasks of a step on a node have. The tasks share a pipe
 * with one byte in it: the task that reads the byte prints the line.
 */

/* Make the pipe. Returns its reading end, which stays open through exec and never
 * blocks; -1: it cannot be made, and then every task prints its line. */
int berth_report_open(void);

/* May the caller print the line? FD is the pipe; true if FD is -1. */
int berth_report_claim(int fd);

/* Write `berth: PLACE: ` and the text of FORMAT to descriptor TO, in one write, with
 * control characters escaped: others choose the names of nodes and images. A long PLACE
 * is cut. */
void berth_report_line(int to, const char *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Write the sentence in ERR to standard error in the same form, if
 * berth_report_claim(FD).
 */
void berth_report(int fd, const char *place, const struct berth_err *err);
