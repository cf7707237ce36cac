/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The absolute PATH without links and dots, as realpath(3) tells it, but each link is
 * read once: every time, the kernel asks the server of an image for it. For processes
 * that end soon, as what was found stays. The caller frees the result. NULL, with
 * errno: it is not there. */
char *berth_resolve(const char *path);

/* Forgets what was found: the process has entered another root. */
void berth_resolve_forget(void);
