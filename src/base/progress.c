/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one line of progress on a terminal. */

#include "base/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/buf.h"
#include "base/deadline.h"
#include "base/fd.h"

/* In milliseconds. */
enum { FIRST = 1000, EVERY = 500, LONG = 2000 };

/* "Carriage return, erase to the end of the line" (ECMA-48). */
#define AGAIN "\r\033[K"

static bool understands(int terminal)
{
    const char *kind = getenv("TERM");

    if (terminal < 0 || !kind || !*kind)
        return false;
    return strcmp(kind, "dumb") != 0;
}

/* Is it time to write the line? */
static bool is_due(const struct berth_progress *progress, int64_t now)
{
    if (progress->terminal < 0 || now - progress->began < FIRST)
        return false;
    return !progress->is_drawn || now - progress->drawn >= EVERY;
}

/* How many characters fit into a line of TERMINAL. */
static size_t width_of(int terminal)
{
    enum { USUAL = 80 };
    struct winsize size = {0};

    if (ioctl(terminal, TIOCGWINSZ, &size) < 0 || size.ws_col <= 1)
        return USUAL;
    return size.ws_col;
}

void berth_progress_begin(struct berth_progress *progress, int terminal,
                          void (*say)(const char *sentence), const char *format, ...)
{
    char raw[BERTH_ERR_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    *progress = (struct berth_progress){
        .terminal = understands(terminal) ? terminal : -1,
        .say = say,
        .began = berth_clock(),
    };
    berth_err_escape(progress->what, sizeof(progress->what), raw);
    if (progress->terminal < 0)
        say(progress->what);
}

void berth_progress_show(struct berth_progress *progress, const char *detail)
{
    int64_t now = berth_clock();
    long seconds = (long)((now - progress->began) / 1000);
    BERTH_BUF struct berth_buf line = {0};
    size_t width;

    if (!is_due(progress, now))
        return;

    /* What changes comes first, so that a narrow terminal shows it. */
    berth_buf_addf(&line, "berth: %ld s", seconds);
    berth_buf_part(&line, ", ", detail, "");
    berth_buf_addf(&line, ": %s", progress->what);
    if (line.failed)
        return;

    /* A line of the whole width would wrap. */
    width = width_of(progress->terminal);
    if (line.used >= width)
        line.used = width - 1;
    berth_fd_write(progress->terminal, AGAIN, strlen(AGAIN));
    berth_fd_write(progress->terminal, line.text, line.used);
    progress->drawn = now;
    progress->is_drawn = true;
}

void berth_progress_clear(struct berth_progress *progress)
{
    if (progress->is_drawn)
        berth_fd_write(progress->terminal, AGAIN, strlen(AGAIN));
    progress->is_drawn = false;
}

void berth_progress_end(struct berth_progress *progress, const char *format, ...)
{
    int64_t took = berth_clock() - progress->began;
    char raw[BERTH_ERR_SIZE - 64];
    struct berth_err line;
    va_list args;

    berth_progress_clear(progress);
    if (took < LONG)
        return;
    va_start(args, format);
    vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    berth_err_set(&line, "%s in %lld s", raw, (long long)(took + 500) / 1000);
    progress->say(line.text);
}
