/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The directories of a list like the variable PATH, one after the other.
 *
 * Searches differ in what they accept, because each one does what another program does:
 * - a helper program of berth (base/run.h): the first regular file that can be
 *   executed, in absolute directories only, as anybody may own the working directory;
 * - the command of a task, in its container (container/become.c): the same, as
 *   execvp(3) does, in all directories; an empty one is the working directory (POSIX,
 *   "Environment Variables", PATH). Then the working directory, where slurmstepd
 *   executes a name that is not on the PATH;
 * - the command that slurmstepd has found on the host (cli/berth-oci.c): what
 *   _build_path() in slurmstepd's task.c finds, the first file that is not a directory,
 *   whether or not it can be executed; strtok_r(3) skips empty directories there. */
struct berth_searchpath {
    const char *left; /* of the list; starts as all of it; NULL: nothing */

    /* The directory, in the list, and its bytes; set by berth_searchpath_next(). */
    const char *directory;
    size_t length;
};

/* Go to the next directory, which may be empty. Returns false if there is none. */
bool berth_searchpath_next(struct berth_searchpath *path);

/* Returns DIRECTORY/NAME, or ./NAME for an empty directory. The caller frees it; NULL:
 * out of memory. */
char *berth_searchpath_file(const struct berth_searchpath *path, const char *name);
