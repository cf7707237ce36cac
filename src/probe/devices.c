/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices this host has, by their names. */

#include "probe/devices.h"

#include <glob.h>
#include <string.h>

int berth_devices_find(const struct berth_strvec *patterns, struct berth_strvec *mounts,
                       struct berth_err *err)
{
    for (size_t i = 0; i < patterns->count; i++) {
        glob_t found;

        if (glob(patterns->items[i], 0, NULL, &found) != 0)
            continue;
        for (size_t j = 0; j < found.gl_pathc; j++)
            if (!strchr(found.gl_pathv[j], ':')) /* a mount cannot be written so */
                berth_strvec_pushf(mounts, "%s:%s:rw", found.gl_pathv[j],
                                   found.gl_pathv[j]);
        globfree(&found);
    }
    return mounts->failed ? berth_err_oom(err) : 0;
}
