/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* TEXT as an absolute path: itself when it starts with `/`, else BASE/TEXT. Nothing is
 * resolved: `..` and links mean on the node what they mean there. BASE may be NULL:
 * then only absolute paths are taken. A `~` or `$` in front, which a shell does not
 * expand behind --option=, is refused. On success the caller frees *RET_PATH. */
int berth_path_absolute(const char *text, const char *base, char **ret_path,
                        struct berth_err *err);

/* The absolute path TEXT without `//`, `.` and `..`, which is taken as if no directory
 * were a symbolic link. The caller frees it; NULL when out of memory. */
char *berth_path_clean(const char *text);

/* Is PATH the directory DIRECTORY, or below it? Both are clean. */
bool berth_path_is_within(const char *path, const char *directory);

/* Is TEXT UTF-8 (RFC 3629)? */
bool berth_path_is_utf8(const char *text);
