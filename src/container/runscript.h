/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* May the runscript PATH find commands that `exec` does not, such as one that sets the
 * PATH of a conda environment and then becomes its arguments? Not if there is none, and
 * not the one that runtimes write into an image without an entry point. */
bool berth_runscript_prepares(const char *path);

/* Has an image with the runscript PATH an entry point? Not with the file that a runtime
 * writes where a recipe has none. */
bool berth_runscript_exists(const char *path);

/* Returns the directory to which PATH, an /etc/rc as enroot writes it, changes before
 * the command, which the caller frees; NULL: it is another file, or there is none. */
char *berth_runscript_directory(const char *path);
