/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Makes TEXT an absolute path: TEXT itself if it starts with `/`, else BASE/TEXT. BASE
 * NULL: a relative TEXT is an error. So is a `~` or `$` at the start: a shell does not
 * expand either after --option=. `..` and links stay; the node resolves them. On
 * success the caller frees *RET_PATH. */
int berth_path_absolute(const char *text, const char *base, char **ret_path,
                        struct berth_err *err);

/* The absolute path TEXT without `//`, `.` and `..`, as if no directory were a symbolic
 * link. The caller frees the path. NULL: out of memory. */
char *berth_path_clean(const char *text);

/* NAME in the directory of FILE, an absolute path; NAME itself if it is absolute. The
 * caller frees the path. NULL: out of memory. */
char *berth_path_beside(const char *file, const char *name);

/* Is PATH the directory DIRECTORY, or in it at any depth? Both are clean paths. */
bool berth_path_is_within(const char *path, const char *directory);
