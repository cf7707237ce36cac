/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the output of a pull on the terminal, and keeps the line that says why it
 * failed.
 */

#include "pull/listen.h"

#include <ctype.h>
#include <string.h>

#include "base/fd.h"
#include "base/text.h"

#define FATAL "FATAL:"

static void end_line(struct berth_listen *listen)
{
    listen->line[listen->used] = '\0';
    if (berth_text_starts(listen->line, FATAL))
        memcpy(listen->fatal, listen->line, listen->used + 1);
    else if (listen->line[strspn(listen->line, " ")])
        memcpy(listen->last, listen->line, listen->used + 1);
    listen->used = 0;
}

/* Add C to the line at hand. A progress bar ends its line by a carriage return. */
static void add_byte(struct berth_listen *listen, char c)
{
    if (listen->escape) {
        listen->escape = !isalpha((unsigned char)c);
        return;
    }
    listen->escape = c == '\033';
    if (c == '\n' || c == '\r')
        end_line(listen);
    else if (!listen->escape && listen->used + 1 < sizeof(listen->line))
        listen->line[listen->used++] = c;
}

/* Does a line start at BYTES in which the runtime gives up, with or without colours? */
static bool gives_up(const char *bytes, size_t count)
{
    size_t at = 0;

    if (count > 1 && bytes[0] == '\033' && bytes[1] == '[') {
        while (at < count && !isalpha((unsigned char)bytes[at]))
            at++;
        at++;
    }
    return at < count && count - at >= strlen(FATAL) &&
           memcmp(bytes + at, FATAL, strlen(FATAL)) == 0;
}

void berth_listen_add(struct berth_listen *listen, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_byte(listen, bytes[i]);
    while (listen->terminal >= 0 && count > 0) {
        const char *end = memchr(bytes, '\n', count);
        size_t length = end ? (size_t)(end - bytes) + 1 : count;

        if (!listen->inside)
            listen->held = gives_up(bytes, length);
        if (!listen->held)
            berth_fd_write(listen->terminal, bytes, length);
        listen->inside = !end;
        bytes += length;
        count -= length;
    }
}

const char *berth_listen_reason(struct berth_listen *listen)
{
    end_line(listen);
    if (!*listen->fatal)
        return listen->last;
    return listen->fatal + strlen(FATAL) + strspn(listen->fatal + strlen(FATAL), " ");
}
