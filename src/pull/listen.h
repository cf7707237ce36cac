/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_PULL_LISTEN_H
#define BERTH_PULL_LISTEN_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that are kept of a line. */
enum { BERTH_LISTEN_LINE = 1024 };

/* What the runtime says while it pulls. On a terminal that is seen as it comes, with
 * its progress bars, but for the line in which it gives up: that becomes a part of
 * ours. Start with `= {.terminal = FD}`, or -1 for none. */
struct berth_listen {
    int terminal;
    bool inside; /* a line that has been begun on the terminal */
    bool held;   /* the line at hand is not shown */
    bool escape; /* of a terminal's language: is no text */
    size_t used;
    char line[BERTH_LISTEN_LINE];  /* at hand */
    char last[BERTH_LISTEN_LINE];  /* that said anything */
    char fatal[BERTH_LISTEN_LINE]; /* in which it gave up */
};

/* Take the next COUNT bytes. */
void berth_listen_take(struct berth_listen *listen, const char *bytes, size_t count);

/* At the end: the line in which it gave up, else the last one; "" for none. */
const char *berth_listen_words(struct berth_listen *listen);

#endif
