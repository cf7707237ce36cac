/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/strvec.h"

/* Is NAME, without directories, a name of a file with an MPI interface: libmpi.so.12,
 * libmpich.so.12.2.2, libmpi_usempif08.so.40, libmpi_cray.so.12, ...; or a client of a
 * process manager that Open MPI loads (mca_pmix_ext3x.so)? What the file is, only its
 * contents tell (mpi/family.h). */
bool berth_inventory_is_named(const char *name);

/* Find the files that are called so below the DIRECTORIES (those that do not exist are
 * passed over) of the root that the process has. Symbolic links to directories are not
 * followed, links to files are; each file is there once, by the path without links.
 * Appends to RET. At most 200,000 entries are looked at; what is behind them is not
 * found. *RET_FIXED (may be NULL): all directories are on the file systems of the
 * container's image, so what is in them does not change. */
int berth_inventory_read(const struct berth_strvec *directories,
                         struct berth_strvec *ret, bool *ret_fixed,
                         struct berth_err *err);

/* Appends to KEY what the result depends on in an image that does not change: the
 * DIRECTORIES, and the mounts in them. Returns false when that is not known. */
bool berth_inventory_identify(const struct berth_strvec *directories,
                              struct berth_buf *key);

/* Append the directories in which libraries of an image usually are, and those of
 * SEARCH, a list like LD_LIBRARY_PATH (NULL: none). */
void berth_inventory_usual(const char *search, struct berth_strvec *directories);
