/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* How a verb prints its result: text for people, on a terminal in colours, or JSON for
 * programs. */
struct berth_output {
    bool is_json;
    bool has_color; /* of text */
};

/* Returns how standard output is written if the command line says nothing of it. */
struct berth_output berth_output_usual(void);

/* If ARGUMENT is --json or --color[=WHEN], set *OUTPUT to that, and *RET_IS_TAKEN to
 * true; else to false. Returns 0, or -1 with a sentence in ERR for a wrong WHEN. */
int berth_output_take(const char *argument, struct berth_output *output,
                      bool *ret_is_taken, struct berth_err *err);
