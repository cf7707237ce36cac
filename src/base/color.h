/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Colours in what people read on a terminal. */
enum berth_color {
    BERTH_COLOR_GOOD,   /* green: as it should be */
    BERTH_COLOR_NOTE,   /* yellow: worth knowing */
    BERTH_COLOR_WRONG,  /* red: must be mended */
    BERTH_COLOR_ANSWER, /* bold: what was asked for */
};

/* Set *RET to whether output to FD has colours, by WHEN, the value of an option
 * --color: "always", "never", or "auto" (and NULL), which means on a terminal that has
 * them, unless NO_COLOR is set (no-color.org). Returns 0, or -1 with a sentence in ERR
 * for another WHEN. */
int berth_color_read(const char *when, int fd, bool *ret, struct berth_err *err);

/* Returns what a terminal gets before text in COLOR, and after it; "" if HAS_COLOR is
 * false. */
const char *berth_color_begin(bool has_color, enum berth_color color);
const char *berth_color_end(bool has_color);
