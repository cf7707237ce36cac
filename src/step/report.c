/* SPDX-License-Identifier: Apache-2.0 */
/* One line for each node and step. */

#include "step/report.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

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

void berth_report(int fd, const char *place, const struct berth_err *err)
{
    char line[BERTH_ERR_SIZE + 512];
    int length;

    if (!berth_report_claim(fd))
        return;
    length = snprintf(line, sizeof(line), "berth: %s: %s\n", place, err->text);
    if (length >= (int)sizeof(line)) {
        length = (int)sizeof(line) - 1;
        line[length - 1] = '\n';
    }
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        return; /* nowhere left to say it */
}
