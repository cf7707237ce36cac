/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "bindover/manifest.h"
#include "bindover/stack.h"
#include "container/stageroot.h"

/* A stage is a stack of the host in a form that can run inside any image: copies of its
 * libraries and of all files that they open. The copies find each other by an absolute
 * DT_RPATH, where the stage is mounted, so that no variable and no path of the image
 * takes effect. The manifest lists the files (bindover/manifest.h).
 *
 * A stage is a directory STACK-TIME under a root. It is made under another name and
 * renamed when it is complete. If the host's MPI changes, a new stage is made. Nothing
 * here removes an old one: systemd-tmpfiles does (etc/tmpfiles.d/berth.conf). */

/* A complete stage. */
struct berth_staged {
    char *path;    /* on the host */
    char *mounted; /* in the container, where its root is mounted */
    struct berth_manifest manifest;
};

/* Finds a valid stage of STACK in ROOT: complete, and made of the files that the host
 * has now, which takes a few hundred calls of stat(2). Returns 1 with *RET_STAGED,
 * which the caller owns (berth_staged_fini); 0 if there is none; -1 with a sentence in
 * ERR if ROOT exists and cannot be trusted. */
int berth_stage_find(const struct berth_stack *stack,
                     const struct berth_stage_root *root,
                     struct berth_staged *ret_staged, struct berth_err *err);

/* Makes a stage of STACK in ROOT, which is made if it does not exist. One process makes
 * it; others wait for that process. Takes about a second, or as long as it takes to
 * read and write the host's MPI; needs `patchelf` and up to some hundred megabytes. END
 * is the latest end, on berth_clock() (0: no limit). Returns 0 with *RET_STAGED, which
 * the caller owns; -1 with a sentence in ERR, and leaves nothing. What a killed maker
 * has left is removed by the next one. */
int berth_stage_make(const struct berth_stack *stack,
                     const struct berth_stage_root *root, int64_t end,
                     struct berth_staged *ret_staged, struct berth_err *err);

/* Finds a stage of STACK in the site's root or in the user's, or makes one in the
 * user's until END, as above. Returns 0 with *RET_STAGED, which the caller owns; -1
 * with a sentence in ERR. */
int berth_stage_get(const struct berth_stack *stack, int64_t end,
                    struct berth_staged *ret_staged, struct berth_err *err);

void berth_staged_fini(struct berth_staged *staged);
