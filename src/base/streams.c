/* SPDX-License-Identifier: Apache-2.0 */
/* Standard input, output and error: their descriptors are in use in each program. */

#include "base/streams.h"

#include <fcntl.h>
#include <unistd.h>

void berth_streams_reserve(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}
