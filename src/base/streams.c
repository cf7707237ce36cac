/* SPDX-License-Identifier: Apache-2.0 */
/* The three streams that a program expects to have. */

#include "base/streams.h"

#include <fcntl.h>
#include <unistd.h>

void berth_streams_reserve(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}
