/* SPDX-License-Identifier: Apache-2.0 */
/* Where stages of the host's MPI are. */

#include "task/stageroot.h"

#include <stdio.h>
#include <unistd.h>

struct berth_stage_root berth_stage_site(void)
{
    return (struct berth_stage_root){.path = BERTH_STAGE_SITE,
                                     .mounted = BERTH_STAGE_SITE_MOUNTED,
                                     .owner = 0,
                                     .forbidden = 0022,
                                     .mode = 0755};
}

struct berth_stage_root berth_stage_user(char path[BERTH_STAGE_USER_SIZE])
{
    snprintf(path, BERTH_STAGE_USER_SIZE, "/tmp/berth-%u", geteuid());
    return (struct berth_stage_root){.path = path,
                                     .mounted = BERTH_STAGE_USER_MOUNTED,
                                     .owner = geteuid(),
                                     .forbidden = 0077,
                                     .mode = 0700};
}
