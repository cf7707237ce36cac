/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a --multi-prog file. */

#include "request/multiprogread.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"

static int load(const char *name, struct berth_multiprog *ret, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};

    if (berth_fd_read_path(name, BERTH_MULTIPROG_MAX + 1, &text) < 0)
        return berth_err_set(err, "%s", strerror(errno));
    if (text.failed)
        return berth_err_oom(err);
    if (text.used > BERTH_MULTIPROG_MAX)
        return berth_err_set(err,
                             "it has more than %d bytes, which srun refuses; "
                             "write scripts for long commands",
                             BERTH_MULTIPROG_MAX);
    return berth_multiprog_read(text.text ? text.text : "", ret, err);
}

int berth_multiprog_load(const char *name, struct berth_multiprog *ret,
                         struct berth_err *err)
{
    return load(name, ret, err) < 0 ? berth_err_at(err, "--multi-prog: '%s'", name) : 0;
}
