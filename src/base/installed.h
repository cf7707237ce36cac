/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Returns the path of the file that this program was started from, also if it runs from
 * a copy in memory (container/program.h); NULL if the kernel does not tell it. Stays
 * until the process ends. */
const char *berth_installed_self(void);

/* Returns where PATH is, a path of configure's, in the tree that this program of berth
 * was started from, which may have been moved: with the prefix of that tree. PATH
 * itself if it is outside of the prefix, in a program of another name (the plugin is
 * not moved), and when out of memory. Stays until the process ends. */
const char *berth_installed(const char *path);
