/* SPDX-License-Identifier: Apache-2.0 */
/* The address of the job's server. */

#include "job/protocol.h"

#include <stddef.h>
#include <stdio.h>

int berth_job_address(uid_t uid, uint32_t job, const char *node,
                      struct sockaddr_un *ret, socklen_t *ret_length)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t room = sizeof(address.sun_path) - 1;
    int length;

    length = snprintf(address.sun_path + 1, room, "berth/%u/%u/%s", uid, job, node);
    if (!*node || length < 0 || (size_t)length >= room)
        return -1;
    *ret = address;
    *ret_length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    return 0;
}
