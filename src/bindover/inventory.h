/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"

/* Is NAME, without directories, the name of a file with an MPI interface (libmpi.so.12,
 * libmpich.so.12.2.2, libmpi_usempif08.so.40, libmpi_cray.so.12, ...), or of a
 * component of Open MPI for a process manager (mca_pmix_ext3x.so)? Only the contents
 * show what the file is (mpi/family.h). */
bool berth_inventory_is_named(const char *name);

/* Appends to RET the files with such names below the DIRECTORIES in the root of the
 * process, each once, by the path without links. A directory may be missing. Links to
 * files are followed, links to directories are not. *RET_CUT: some were not searched,
 * because they are more than eight levels deep or come after 200,000 entries. Returns
 * 0, or -1 out of memory. */
int berth_inventory_read(const struct berth_strvec *directories,
                         struct berth_strvec *ret, bool *ret_cut,
                         struct berth_err *err);

/* Appends to DIRECTORIES those in which libraries of an image usually are, and those of
 * SEARCH, a list like LD_LIBRARY_PATH (NULL: none). Out of memory sticks in
 * DIRECTORIES.
 */
void berth_inventory_usual(const char *search, struct berth_strvec *directories);
