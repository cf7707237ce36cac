/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"

/* Appends to RET the files with the names of MPI's files (mpi/filenames.h) below the
 * DIRECTORIES in the root of the process, each once, by the path without links. A
 * directory may be missing. Links to files are followed, links to directories are not.
 * *RET_CUT: some were not searched, because they are more than eight levels deep or
 * come after 200,000 entries. Returns 0, or -1 out of memory. */
int berth_inventory_read(const struct berth_strvec *directories,
                         struct berth_strvec *ret, bool *ret_cut,
                         struct berth_err *err);

/* Appends to DIRECTORIES those in which libraries of an image usually are, and those of
 * SEARCH, a list like LD_LIBRARY_PATH (NULL: none). Out of memory sticks in
 * DIRECTORIES.
 */
void berth_inventory_usual(const char *search, struct berth_strvec *directories);
