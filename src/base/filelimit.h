/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>

/* A limit on the size of files (ulimit -f) ends a process that writes beyond it with
 * SIGXFSZ. While a BERTH_FILELIMIT is in scope, the write fails with EFBIG instead, so
 * that the error can be reported. */
struct berth_filelimit {
    struct sigaction before;
};

static inline struct berth_filelimit berth_filelimit_ignore(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct berth_filelimit limit = {0};

    sigaction(SIGXFSZ, &ignore, &limit.before);
    return limit;
}

static inline void berth_filelimit_restore(const struct berth_filelimit *limit)
{
    sigaction(SIGXFSZ, &limit->before, NULL);
}

#define BERTH_FILELIMIT __attribute__((cleanup(berth_filelimit_restore)))
