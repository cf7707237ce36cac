/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include "base/err.h"

/* Directories and files by descriptor: nobody can exchange a path between its check and
 * its use. */

/* Opens the directory PATH, which must not be a symbolic link, must belong to OWNER and
 * must give nobody the permissions FORBIDDEN (bits of st_mode). Returns a descriptor
 * that the caller closes; or -1 with a sentence in ERR. Sets *RET_MISSING, which may be
 * NULL: 1 if PATH is not there, else 0. */
int berth_tree_open(const char *path, uid_t owner, mode_t forbidden, int *ret_missing,
                    struct berth_err *err);

/* Open the directory or file PATH, which has no `..` and begins at the directory FROM,
 * or at the root if it is absolute, as a place (O_PATH), by a way without symbolic
 * links. Returns a descriptor, or -1 with errno (ELOOP: a link). */
int berth_tree_open_plain(int from, const char *path);

/* Open the directory NAME below DIR, which must not be a symbolic link, to list it
 * (closedir(3)). Returns NULL with errno. */
DIR *berth_tree_list(int dir, const char *name);

/* Make the missing directories on the way from DIR to FILE, a path below it. Returns 0,
 * or -1 with errno. */
int berth_tree_parents(int dir, const char *file);

/* Copy FROM, from its current offset to its end, to a new file NAME below DIR with
 * MODE. Returns 0, or -1 with errno. */
int berth_tree_copy(int from, int dir, const char *name, mode_t mode);

/* Remove NAME below DIR with all that is in it; follows no link. Returns 0 when nothing
 * is left, or -1 with errno. */
int berth_tree_remove(int dir, const char *name);
