/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Returns PATH as realpath(3) does: absolute, without links and dots. Each path, and
 * each directory on its way, is resolved once per process, because the program that
 * serves an image answers each read. Only for processes that end soon: the cache never
 * expires. The caller frees the result. NULL with errno: PATH is NULL, too long or not
 * there. */
char *berth_resolve(const char *path);

/* Empty the cache, when the process has entered another root. */
void berth_resolve_forget(void);
