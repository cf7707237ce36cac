/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/strvec.h"
#include "bindover/dependents.h"
#include "bindover/manifest.h"
#include "mpi/objects.h"
#include "mpi/program.h"
#include "mpi/verdict.h"
#include "bindover/scan.h"
#include "bindover/stack.h"

/* Libraries of an image that those of the host replace: those of an MPI, of one family,
 * or those of the SONAMEs that a stack replaces. */
struct berth_replacement {
    enum berth_mpi_family family;    /* set by the caller; NONE: by SONAMEs */
    const struct berth_stack *stack; /* that is staged; set by the caller */
    struct berth_users users; /* by SONAMEs: files that must load the staged libraries,
                                 too; set by the caller */
    char *mounted;            /* where the stage is in the container */
    char *host;               /* where it is on the host */
    struct berth_manifest manifest;
    struct berth_mpi_objects staged; /* its libraries */
    struct stat *files;              /* of STAGED, in the same order */
    struct berth_mpi_verdict verdict;
    bool is_linked;            /* the program is linked with this family */
    struct berth_strvec binds; /* staged file, file of the image, staged file, ...; or
                                  a file of the image, the staged file that it replaces
                                */
    struct berth_strvec set;   /* NAME=VALUE */
    const char *target; /* the file about which the loader was asked last; borrowed */
    struct berth_closure closure; /* and its answer */
};

static inline bool berth_replacement_is_mpi(const struct berth_replacement *replacement)
{
    return replacement->family != BERTH_FAMILY_NONE;
}

/* Does it replace SONAME of an image, whatever MPI the library is? */
bool berth_replacement_replaces(const struct berth_replacement *replacement,
                                const char *soname);

/* Is PATH one of the stage, as it is in the container? A mount over it is of a file of
 * the image. */
bool berth_replacement_is_staged(const struct berth_replacement *replacement,
                                 const char *path);

/* What messages call it, and the end of those that say why it cannot be used: advice;
 * "" for libraries, to which bindover/hostlibs.c adds it. Borrowed. */
const char *berth_replacement_name(const struct berth_replacement *replacement);
const char *berth_replacement_advice(const struct berth_replacement *replacement);

/* Reads the stage at MOUNTED, whose path on the host is HOST, into REPLACEMENT, which
 * the caller ends (berth_replacement_fini), also after an error. CACHE (NULL: none)
 * answers for files that it knows. Returns 0, or -1 with a sentence in ERR. */
int berth_replacement_open(struct berth_factcache *cache, const char *mounted,
                           const char *host, struct berth_replacement *replacement,
                           struct berth_err *err);

/* Judges whether the staged libraries can replace those of the image of SCAN, in the
 * process of PROGRAM; plans the mounts, and in SET the variables for the environment
 * ENV (ends in NULL). By SONAMEs, SCAN has what the image has under the names of all
 * that is staged. Returns 0, or -1 with a sentence in ERR if they cannot. */
int berth_replacement_plan(struct berth_replacement *replacement,
                           const struct berth_mpi_program *program,
                           const struct berth_scan *scan, char *const *env,
                           struct berth_err *err);

/* Plans which library of STAGED is mounted over which file of FAMILY in IMAGE: the one
 * that has all parts of the file (mpi/family.h), and of several the one with the fewest
 * other parts. Appends to BINDS: staged path, image path, staged path, ... A file that
 * no staged library can replace is left out; the verdict (mpi/verdict.h) has judged
 * whether the program can do without it. Returns 0, or -1 out of memory. */
int berth_replacement_pair(const struct berth_mpi_objects *image,
                           const struct berth_mpi_objects *staged,
                           enum berth_mpi_family family, struct berth_strvec *binds,
                           struct berth_err *err);

/* The staged library that is mounted at PATH; NULL: none. */
const struct berth_mpi_object *
berth_replacement_staged(const struct berth_replacement *replacement, const char *path);

void berth_replacement_fini(struct berth_replacement *replacement);
