/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* Directories and files by descriptor, so that what was checked is what is used. */

/* Opens the directory PATH, which must not be a symbolic link, must belong to OWNER and
 * must give nobody the permissions FORBIDDEN (bits of st_mode). Returns a descriptor;
 * -1 with a sentence in ERR, and *RET_MISSING (may be NULL) 1 if nothing is there. */
int berth_tree_open(const char *path, uid_t owner, mode_t forbidden, int *ret_missing,
                    struct berth_err *err);

/* Make the directories of FILE's path, below DIR, that are not there. Returns 0, or -1
 * with errno. */
int berth_tree_parents(int dir, const char *file);

/* Copy what FROM holds from its start to a new file NAME below DIR, with MODE. Returns
 * 0, or -1 with errno. */
int berth_tree_copy(int from, int dir, const char *name, mode_t mode);

/* Remove NAME below DIR with all that is in it; follows no link. Returns 0 when nothing
 * is left, or -1 with errno. */
int berth_tree_remove(int dir, const char *name);
