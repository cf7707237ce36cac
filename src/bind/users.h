/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "mpi/objects.h"
#include "discover/scan.h"

/* Who in an image needs libraries that are to be replaced. The first two members are
 * the caller's, which are borrowed; end with berth_users_fini(). */
struct berth_users {
    struct berth_scan *scan;    /* at the program */
    const char *const *sonames; /* of these libraries, ended by NULL */
    struct berth_strvec files;  /* of the image, that need one of them */
    struct berth_strvec places; /* what these files get, and what a program without a
                                   search path of its own gets: SONAME, file, ... */
};

/* Find them: the program and what it loads, or may load where it loads no MPI when it
 * starts, and the plugins that an MPI opens (berth_openers). What cannot be loaded as
 * it is is nobody's. The process is in the container. */
int berth_users_find(struct berth_users *users, struct berth_err *err);

/* Do the libraries among STAGED, which messages call VERSION, have each symbol that the
 * files need of the image's, and are they not older? Returns 0, or -1 with a sentence
 * in ERR. */
int berth_users_check(const struct berth_users *users,
                      const struct berth_mpi_objects *staged, const char *version,
                      struct berth_err *err);

void berth_users_fini(struct berth_users *users);
