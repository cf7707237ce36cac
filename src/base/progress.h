/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* What a user sees of work that may take more than two seconds. On a terminal: one
 * line, which is written again and again from the first second on, and removed at the
 * end. Elsewhere: a line at the start. At the end of work that has taken two seconds: a
 * line, on both. */
struct berth_progress {
    int terminal;                      /* -1: none */
    void (*say)(const char *sentence); /* prints a line */
    int64_t began;                     /* berth_clock() */
    int64_t drawn;                     /* when the line was last written */
    bool is_drawn;
    char what[BERTH_ERR_SIZE]; /* "pulling image 'docker://...'" */
};

/* Begin work that FORMAT says. SAY stays the caller's. */
void berth_progress_begin(struct berth_progress *progress, int terminal,
                          void (*say)(const char *sentence), const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The work goes on. DETAIL ("12 MB"; "": none) stands in the line, with the seconds.
 * Call it as often as you like: the line is written twice a second at most. */
void berth_progress_show(struct berth_progress *progress, const char *detail);

/* Remove the line, before something else is printed. */
void berth_progress_clear(struct berth_progress *progress);

/* The work is done: say FORMAT and the seconds, if it has taken as long as two. */
void berth_progress_end(struct berth_progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
