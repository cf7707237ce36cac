/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Returns where PATH is, a path of configure's, in the tree that this program of berth
 * was started from, which may have been moved: with the prefix of that tree. PATH
 * itself if it is outside of the prefix, in a program of another name (the plugin is
 * not moved), and when out of memory. Stays until the process ends. */
const char *berth_installed(const char *path);
