/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "bindover/scan.h"
#include "bindover/stack.h"
#include "mpi/objects.h"

/* The files of an image that need libraries that the host's replace. The caller sets
 * the first three members, which are borrowed, and ends with berth_dependents_fini().
 */
struct berth_users {
    struct berth_scan *scan;    /* at the program */
    const char *const *sonames; /* of the libraries, ended by NULL */
    char *const *command; /* the arguments of the command (ends in NULL), any of which
                             may be a program; NULL: only what is loaded at the
                             start counts */
    bool is_open; /* a script or Python is among the programs: it may load anything */
    struct berth_strvec files;     /* the users: files that need one of them */
    struct berth_strvec places;    /* SONAME, file, ...: the libraries that the users
                                      get, or a program without a search path */
    struct berth_strvec undefined; /* symbols that they and the program lack anyway, as
                                      in elf/closure.h */
};

/* Finds the users: the program; what it loads or, if it loads no MPI when it starts,
 * may load; and the plugins that an MPI opens (berth_openers). A file that the loader
 * refuses without any change is not a user. The process is in the container. Returns 0,
 * or -1 out of memory. */
int berth_dependents_find(struct berth_users *users, struct berth_err *err);

/* Refuses the libraries of a network among STAGED, the stage of STACK, if they are
 * older than those of the image that they replace. Returns 0, or -1 with a sentence in
 * ERR. */
int berth_dependents_check_age(const struct berth_users *users,
                               const struct berth_mpi_objects *staged,
                               const struct berth_stack *stack, struct berth_err *err);

void berth_dependents_fini(struct berth_users *users);
