/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"
#include "base/err.h"
#include "bindover/stack.h"
#include "bindover/stagefiles.h"

/* The stage to build, and where. */
struct berth_build {
    int dir;          /* the directory to fill, open */
    const char *path; /* of the directory */
    const struct berth_stack *stack;
    const struct berth_gathered *gathered;
    const char *mounted; /* where the stage is in the container */
    int64_t end;         /* the latest end, on berth_clock(); 0: no limit */
    struct berth_err *err;
};

/* Fills the directory with copies of the gathered files, which search their libraries
 * where the stage is mounted, with links and with the manifest. Returns 0; or -1 with a
 * sentence in `err` (no room, no patchelf, no time), and the caller removes the
 * directory. */
int berth_build(const struct berth_build *build);

/* Refuses a stage because SOURCE, of which it has a copy, has changed meanwhile.
 * Returns -1. */
int berth_build_refuse_change(const char *source, struct berth_err *err);

/* Is END (on berth_clock(); 0: no limit) reached? */
static inline bool berth_build_is_late(int64_t end)
{
    return end && berth_clock() >= end;
}
