/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Bytes that are kept of a line. */
enum { BERTH_LISTEN_LINE = 1024 };

/* The runtime's output while it pulls. On a terminal the user sees it as it comes, with
 * progress bars, except for the line in which the runtime gives up: that becomes a part
 * of our message. Start with `= {.terminal = FD}`, or -1 for none. */
struct berth_listen {
    int terminal;
    bool inside; /* a line that has been begun on the terminal */
    bool held;   /* the line at hand is not shown */
    bool escape; /* inside an escape sequence of a terminal, which is not text */
    size_t used;
    char line[BERTH_LISTEN_LINE];  /* at hand */
    char last[BERTH_LISTEN_LINE];  /* that said anything */
    char fatal[BERTH_LISTEN_LINE]; /* in which it gave up */
};

/* Take the next COUNT bytes. */
void berth_listen_add(struct berth_listen *listen, const char *bytes, size_t count);

/* At the end: the line in which it gave up, else the last one; "" for none. */
const char *berth_listen_reason(struct berth_listen *listen);
