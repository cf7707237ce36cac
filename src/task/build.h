/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_TASK_BUILD_H
#define BERTH_TASK_BUILD_H

#include "base/err.h"
#include "probe/stack.h"
#include "task/gather.h"

/* Fill the empty directory PATH, open at DIR, with what was GATHERED of STACK: copies,
 * their search path changed to where the stage is MOUNTED in the container, links and
 * the manifest. Returns 0, or -1 with a sentence in ERR (no room, a source that
 * changes, no patchelf); what is there then is to be removed. */
int berth_build(int dir, const char *path, const struct berth_stack *stack,
                const struct berth_gathered *gathered, const char *mounted,
                struct berth_err *err);

#endif
