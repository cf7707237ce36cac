/* SPDX-License-Identifier: Apache-2.0 */
/* Prints lines of berth, and an error once for each node and step. */

#include "ipc/report.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Bytes of a place: a line about a struct berth_err is then shorter than BERTH_ERR_SIZE
 * + 512. */
enum { PLACE_SIZE = 509 };

int berth_report_open(void)
{
    int ends[2];

    if (pipe(ends) < 0)
        return -1;
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 || write(ends[1], "!", 1) != 1) {
        close(ends[0]);
        ends[0] = -1;
    }
    close(ends[1]);
    return ends[0];
}

int berth_report_claim(int fd)
{
    char byte;

    return fd < 0 || read(fd, &byte, 1) == 1;
}

void berth_report_line(int to, const char *place, const char *format, ...)
{
    char shown[PLACE_SIZE];
    BERTH_FREE char *text = NULL;
    BERTH_FREE char *line = NULL;
    va_list args;
    size_t size, used;
    int length;

    va_start(args, format);
    length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        return;
    size = sizeof(shown) + 4 * (size_t)length + 32; /* each byte may become \xNN */
    line = malloc(size);
    if (!line)
        return;
    berth_err_escape(shown, sizeof(shown), place);
    used = (size_t)snprintf(line, size, "berth: %s: ", shown);
    berth_err_escape(line + used, size - used - 1, text);
    used += strlen(line + used);
    line[used++] = '\n';
    if (write(to, line, used) < 0)
        return; /* there is no other place for the line */
}

void berth_report(int fd, const char *place, const struct berth_err *err)
{
    if (berth_report_claim(fd))
        berth_report_line(STDERR_FILENO, place, "%s", err->text);
}
