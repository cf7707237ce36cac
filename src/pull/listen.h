/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the longest line; the rest of a line is dropped. */
enum { BERTH_LISTEN_LINE = 1024 };

/* The output of a runtime that pulls. On a terminal it is shown at once, with progress
 * bars, except the line in which the runtime gives up, which becomes a part of our
 * message. Start with `= {.terminal = FD}`, or -1 for no terminal. */
struct berth_listen {
    int terminal;
    bool inside; /* the terminal shows the start of this line */
    bool held;   /* this line is not shown */
    bool escape; /* inside an escape sequence of a terminal, which is not text */
    size_t used; /* bytes of `line` */
    char line[BERTH_LISTEN_LINE];  /* this line, so far */
    char last[BERTH_LISTEN_LINE];  /* the last line that is not blank */
    char fatal[BERTH_LISTEN_LINE]; /* the line in which the runtime gave up */
};

/* Add the next COUNT bytes of output. */
void berth_listen_add(struct berth_listen *listen, const char *bytes, size_t count);

/* After the last byte: the line in which the runtime gave up, without "FATAL:", else
 * the last line; "" if there is none. Borrowed from LISTEN. */
const char *berth_listen_reason(struct berth_listen *listen);
