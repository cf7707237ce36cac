/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <glob.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/strvec.h"
#include "elf/closure.h"
#include "mpi/objects.h"
#include "bindover/factcache.h"

/* The facts about MPI in a program and in its image. */
struct berth_scan {
    /* The file that the kernel executes: the program, or the interpreter of a script;
     * NULL: it is missing, and the other members are empty. */
    char *runner;
    char *loader;  /* of the runner; NULL: it has none */
    char *machine; /* of the runner, as uname -m prints it; NULL: not known */
    int bits;      /* of the runner; 0: it is not ELF */
    struct berth_strvec scripts; /* the program and the scripts that start the runner */
    bool is_script;              /* the runner is an interpreter */
    bool is_cut;                 /* not all of the image was searched (inventory.h) */
    struct berth_factcache *cache;    /* borrowed; NULL: none */
    struct berth_closure closure;     /* of the runner; empty without a loader */
    struct berth_mpi_objects objects; /* the program, what the loader loads for the
                                         runner, and MPI libraries of the image that the
                                         runner could load later */
};

/* Scans PROGRAM, a path in the root of the process; the loader searches in the
 * environment ENV (ends in NULL). CACHE (NULL: none) answers for files that it knows.
 * No code of the image runs but its loader. A missing library is not an error. Returns
 * 0 with *RET_SCAN, which the caller owns (berth_scan_fini); -1 with a sentence in ERR
 * if a file is damaged or cannot be read. */
int berth_scan_program(struct berth_factcache *cache, const char *program,
                       char *const *env, struct berth_scan *ret_scan,
                       struct berth_err *err);

/* Adds to SCAN, as PRESENT, the other MPI libraries of the image, which is the root of
 * the process. ENV (ends in NULL) is that of the program. Returns 0, or -1 with a
 * sentence in ERR. */
int berth_scan_image(struct berth_scan *scan, char *const *env, struct berth_err *err);

/* Adds the file at PATH to the objects of SCAN as PRESENT, if the runner could load it
 * and it can be read; without a runner any. SONAME may be NULL (mpi/objects.h). */
void berth_scan_present(struct berth_scan *scan, const char *soname, const char *path);

/* Adds to the objects of SCAN, as PRESENT, the libraries of the image that a program
 * without a search path finds under NAMES (ends in NULL) in the environment ENV (ends
 * in NULL). Returns 0, or -1 with a sentence in ERR. */
int berth_scan_names(struct berth_scan *scan, const char *const *names,
                     char *const *env, struct berth_err *err);

/* Reads the facts of the file PATH, a path without links, or takes them from CACHE
 * (NULL: none). Returns 0 with *RET_ELF, which the caller owns (berth_elf_fini); -1
 * with a sentence in ERR. */
int berth_scan_elf(struct berth_factcache *cache, const char *path,
                   struct berth_elf *ret_elf, struct berth_err *err);

/* Adds the file at PATH to OBJECTS (berth_mpi_objects_add()), with facts from CACHE
 * (NULL: none). Returns 0, or -1 with a sentence in ERR. */
int berth_scan_add(struct berth_factcache *cache, struct berth_mpi_objects *objects,
                   enum berth_mpi_role role, const char *soname, const char *path,
                   struct berth_err *err);

/* glob(3) of PATTERN, which may have braces, below DIRECTORY, a path as it is.
 * Returns false if nothing fits. The caller frees *RET (globfree(3)) in any case. */
bool berth_scan_glob(const char *directory, const char *pattern, glob_t *ret);

void berth_scan_fini(struct berth_scan *scan);

#define BERTH_SCAN __attribute__((cleanup(berth_scan_fini)))
