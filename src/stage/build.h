/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "discover/stack.h"
#include "stage/gather.h"

/* The stage to build, and where. */
struct berth_build {
    int dir;          /* the directory, open */
    const char *path; /* of it */
    const struct berth_stack *stack;
    const struct berth_gathered *gathered;
    const char *mounted; /* where the stage is in the container */
    int64_t end;         /* on berth_clock(): not after; 0: without end */
    /* Set by berth_build(): half of the time until END, and its ERR. */
    int64_t half;
    struct berth_err *err;
};

/* Fill the directory with copies of what was gathered, their search path changed to
 * where the stage is mounted, links and the manifest. Files that an earlier call has
 * copied stay. Returns 0; -1 with a sentence in ERR (no room, a source that changes, no
 * patchelf), and the directory is to be removed; BERTH_BUILD_LATE with a sentence in
 * ERR, and another call goes on with it. */
enum { BERTH_BUILD_LATE = 1 };
int berth_build(const struct berth_build *build, struct berth_err *err);

/* A file of the directory that says that another call cannot go on with it. */
#define BERTH_BUILD_SPOILT ".patching"

/* Is it END, on berth_clock() (0: never)? */
bool berth_build_is_late(int64_t end);
