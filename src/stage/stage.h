/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "stage/manifest.h"
#include "discover/stack.h"
#include "step/stageroot.h"

/* A stage is a host stack in the form in which it can run inside any image: copies of
 * its libraries, and of all that they open, that look for each other by an absolute
 * DT_RPATH where the stage is mounted, so that no variable and no path of the image
 * comes between. What is in it, its manifest tells (stage/manifest.h).
 *
 * Stages are directories STACK-HASH under a root, made under another name and renamed
 * when they are whole; a host MPI that changes gets a new one. */

/* A stage that is there. */
struct berth_staged {
    char *path;    /* on the host */
    char *mounted; /* in the container, when the root is at its place there */
    struct berth_manifest manifest;
};

/* Find a valid stage of STACK in ROOT: whole, and made of what the host has now; takes
 * a few hundred calls of stat(2). Returns 1 with *RET_STAGED, which the caller owns
 * (berth_staged_fini); 0 when there is none; -1 with a sentence in ERR when ROOT is
 * there and not to be trusted. */
int berth_stage_find(const struct berth_stack *stack,
                     const struct berth_stage_root *root,
                     struct berth_staged *ret_staged, struct berth_err *err);

/* Is there still the stage PATH, a directory of ROOT, whole, made of what the host has
 * now, and for that place in a container? */
bool berth_stage_is_valid(const struct berth_stage_root *root, const char *path);

/* A step uses the stage PATH now: its time says so, if the user may change it. */
void berth_stage_touch(const char *path);

/* Make a stage of STACK in ROOT, which is made if need be. One process makes it; others
 * that want it wait for that one. Takes about a second, or as long as reading the
 * host's MPI and writing it takes; needs `patchelf` and up to some hundred megabytes.
 * END is until when at most, on berth_clock() (0: without end); what was copied by then
 * stays, as does what a killed maker has copied, and the next one goes on with it.
 * Returns 0 with *RET_STAGED; -1 with a sentence in ERR, and nothing is left behind but
 * for that. */
int berth_stage_make(const struct berth_stack *stack,
                     const struct berth_stage_root *root, int64_t end,
                     struct berth_staged *ret_staged, struct berth_err *err);

/* Find one in the site's root, else in the user's, else make one there, as above.
 * Returns 0 with *RET_STAGED, or -1 with a sentence in ERR. */
int berth_stage_get(const struct berth_stack *stack, int64_t end,
                    struct berth_staged *ret_staged, struct berth_err *err);

void berth_staged_fini(struct berth_staged *staged);
