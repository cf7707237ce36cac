/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/strvec.h"
#include "bindover/manifest.h"
#include "mpi/objects.h"
#include "mpi/program.h"
#include "mpi/verdict.h"
#include "bindover/scan.h"
#include "bindover/stack.h"

/* A staged file as the kernel knows it. */
struct berth_replacement_file {
    dev_t device;
    ino_t inode;
};

/* One stage of the host's MPI, of a fabric or of libraries, mounted over the libraries
 * of one family in an image, or over those that the others replace. */
struct berth_replacement {
    enum berth_mpi_family family;    /* set by the caller; NONE: not an MPI */
    const struct berth_stack *stack; /* that is staged; set by the caller */
    char *mounted;                   /* where the stage is in the container */
    char *host;                      /* where it is on the host */
    struct berth_manifest manifest;
    struct berth_mpi_objects staged;      /* its libraries */
    struct berth_replacement_file *files; /* of STAGED, in the same order */
    struct berth_mpi_verdict verdict;
    bool is_linked;            /* the program is linked with this family */
    struct berth_strvec binds; /* staged file, file of the image, staged file, ... */
    size_t done;               /* of BINDS, mounted */
    struct berth_strvec out; /* file of the image, the staged file that it replaces, ...
                              */
    size_t out_done;         /* of OUT, mounted */
    struct berth_strvec set; /* NAME=VALUE */
    const char *target; /* the file about which the loader was asked last; borrowed */
    struct berth_closure closure; /* and its answer */
};

/* Reads the stage at MOUNTED, whose path on the host is HOST, into REPLACEMENT, which
 * the caller ends (berth_replacement_fini), also after an error. CACHE (NULL: none)
 * answers for files that it knows. Returns 0, or -1 with a sentence in ERR. */
int berth_replacement_open(struct berth_factcache *cache, const char *mounted,
                           const char *host, struct berth_replacement *replacement,
                           struct berth_err *err);

/* Judges whether the staged libraries can replace those that PROGRAM, in the image of
 * SCAN, wants; plans the mounts, and in SET the variables for the environment ENV (ends
 * in NULL). Returns 0, or -1 with a sentence in ERR if they cannot. */
int berth_replacement_plan(struct berth_replacement *replacement,
                           const struct berth_mpi_program *program,
                           const struct berth_scan *scan, char *const *env,
                           struct berth_err *err);

/* The same for a stage of a fabric or of libraries: judges whether its libraries and
 * those of SCAN can be in one process, and plans the mounts. SCAN has what the image
 * has under the names of all that is staged. */
int berth_replacement_plan_fabric(struct berth_replacement *replacement,
                                  const struct berth_scan *scan, char *const *env,
                                  struct berth_err *err);

/* Drops the planned mounts that are in BOUND, because they are mounted for another
 * program, and appends the others to BOUND: source, destination, source, ... Out of
 * memory sticks in BOUND. Call it before the first mount. */
void berth_replacement_leave_out(struct berth_replacement *replacement,
                                 struct berth_strvec *bound);

/* Mounts what was planned. The process owns the mount namespace. Returns 0, or -1 with
 * a sentence in ERR; berth_replacement_undo() removes what is mounted then. */
int berth_replacement_mount(struct berth_replacement *replacement,
                            struct berth_err *err);

/* Sets the variables SET in this process. Returns 0, or -1 out of memory. */
int berth_replacement_set(const struct berth_replacement *replacement,
                          struct berth_err *err);

/* Asks the loader of SCAN again, in the environment ENV (ends in NULL), which has SET
 * in it: each library of the family (of a fabric: each that it replaces) must be the
 * staged one, and no library may be missing. If the loader shows a library of the image
 * where the verdict chose the host's copy, mounts that copy, too. Returns 0, or -1 with
 * a sentence in ERR that names the file. */
int berth_replacement_verify(struct berth_replacement *replacement,
                             const struct berth_scan *scan, char *const *env,
                             struct berth_err *err);

/* The same check, without further mounts, for TARGET, a file of the image that loads
 * libraries of a fabric. */
int berth_replacement_verify_user(struct berth_replacement *replacement,
                                  const struct berth_scan *scan, const char *target,
                                  char *const *env, struct berth_err *err);

/* The staged library that is mounted at PATH; NULL: none. */
const struct berth_mpi_object *
berth_replacement_staged(const struct berth_replacement *replacement, const char *path);

/* Unmounts all that is mounted. */
void berth_replacement_undo(struct berth_replacement *replacement);

void berth_replacement_fini(struct berth_replacement *replacement);
