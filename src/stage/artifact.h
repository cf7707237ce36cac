/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "stage/gather.h"

/* A directory of libraries that a site has built. Its files are used where they are, so
 * nobody can patch them: they must be right as they are. */

/* May the file PATH belong to a stage of STACK? Without an artifact each may; else one
 * that is in it, also behind links. */
bool berth_artifact_allows(const struct berth_stack *stack, const char *path);

/* Checks the files GATHERED of STACK, which are all in its artifact: each, and each
 * directory on the way to it, belongs to root or to the owner of berth, and others
 * cannot write it; each library is for this machine, searches no directory outside of
 * the artifact, and finds what it needs of the others by an absolute path in it. Adds
 * these directories to GATHERED, since a change in one is a change of the stage.
 * Returns 0, or -1 with a sentence in ERR. */
int berth_artifact_check(const struct berth_stack *stack,
                         struct berth_gathered *gathered, struct berth_err *err);
