/* SPDX-License-Identifier: Apache-2.0 */
/* The address of the job's server. */

#include "job/protocol.h"

int berth_job_address(uid_t uid, uint32_t job, const char *node,
                      struct berth_address *ret)
{
    if (!*node)
        return -1;
    return berth_address_make(ret, "berth/%u/%u/%s", uid, job, node);
}
