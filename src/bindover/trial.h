/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"

/* A copy of the mount namespace and of the environment of the process, in which
 * operations can be tried: at its end the process is back where it was, and nothing of
 * what was tried is left. */
struct berth_trial {
    bool is_open;
    int mounts;                 /* the mount namespace to return to */
    int root;                   /* the root of the process there */
    int directory;              /* and its working directory */
    struct berth_strvec before; /* the environment */
};

/* Begin TRIAL, which starts as {0}. The process has one thread, and owns its mount
 * namespace. Returns 0, or -1 with a sentence in ERR. */
int berth_trial_begin(struct berth_trial *trial, struct berth_err *err);

/* End TRIAL, if it is open. Returns 0, or -1 with a sentence in ERR: the process is in
 * no useful state then. */
int berth_trial_end(struct berth_trial *trial, struct berth_err *err);
