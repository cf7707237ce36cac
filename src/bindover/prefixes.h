/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "bindover/scan.h"

/* Hints to an MPI outside of the image, or at an unusual place in it. Borrows all. */
struct berth_beside {
    const char *program;               /* a path, with links */
    char *const *command;              /* all its arguments, ended by NULL */
    char *const *env;                  /* NAME=VALUE, ended by NULL */
    const struct berth_strvec *mounts; /* of the request, SRC:DST:ro|rw */
};

/* A program that is not linked with MPI (a script, an interpreter, a shell) may load
 * MPI, or start a program that is linked with it. Appends to the objects of SCAN, as
 * PRESENT, the MPI libraries in the prefix of PROGRAM, in VIRTUAL_ENV, CONDA_PREFIX and
 * HOME, below the mounts, and beside the files and directories that absolute paths in
 * COMMAND and in the scripts of SCAN name; and such files that have an MPI linked into
 * them. Of a prefix only lib, lib64 and Python's *.libs are read. Returns 0, or -1 out
 * of memory. */
int berth_prefixes_add(const struct berth_beside *beside, struct berth_scan *scan,
                       struct berth_err *err);

/* The same for the rest of an MPI that the program of SCAN is linked with: libraries
 * that it may load later, and the components of Open MPI. */
int berth_prefixes_linked(struct berth_scan *scan, struct berth_err *err);
