/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/err.h"
#include "base/strvec.h"
#include "discover/scan.h"

/* Hints to an MPI outside of the image, or at an unusual place in it. Borrows
 * everything. */
struct berth_beside {
    const char *program;               /* a path, with links */
    char *const *command;              /* all words, ended by NULL */
    char *const *env;                  /* the same */
    const struct berth_strvec *mounts; /* of the request, SRC:DST:ro|rw */
};

/* A program that is not linked with MPI (a script, an interpreter, a shell) may load
 * MPI, or start a program that is linked with it. Append to the objects of SCAN, as
 * PRESENT, the MPI libraries in the prefix of PROGRAM, in VIRTUAL_ENV, CONDA_PREFIX and
 * HOME, below the mounts, and those that belong to the files and directories named by
 * absolute paths in COMMAND and in the scripts that SCAN has; and the programs among
 * those files that have an MPI linked into them. A prefix is its lib, lib64 and
 * Python's *.libs; no tree is walked. Returns 0, or -1 out of memory. */
int berth_beside_add(const struct berth_beside *beside, struct berth_scan *scan,
                     struct berth_err *err);
