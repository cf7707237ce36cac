/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "elf/closure.h"
#include "mpi/objects.h"
#include "step/factcache.h"

/* The facts about MPI in a program and in the image around it. */
struct berth_scan {
    char *runner; /* the file that the kernel executes for the program: the program, or
                     the interpreter of a script; NULL: it is missing, and the other
                     members are empty */
    char *loader; /* of the runner; NULL: it has none */
    const char *machine; /* of the runner, as uname -m says it; NULL: not told */
    int bits;            /* of the runner; 0: it is not ELF */
    struct berth_strvec scripts;      /* the files that lead to it */
    bool is_script;                   /* the runner is an interpreter */
    struct berth_factcache *cache;    /* borrowed; NULL: none */
    struct berth_closure closure;     /* of the runner; empty without a loader */
    struct berth_mpi_objects objects; /* the program, what the loader loads for the
                                         runner, and every MPI library of the image that
                                         it could load */
};

/* Look at PROGRAM (a path) in the root that the process has; its libraries are searched
 * in the environment ENV (ends in NULL). What CACHE (NULL: none) has is taken from
 * there. Nothing of it runs. What is missing is an
 * answer, not an error. Returns 0 with *RET_SCAN, which the caller owns
 * (berth_scan_fini); -1 with a sentence in ERR when a file is damaged or cannot be
 * read.
 */
int berth_scan_image(struct berth_factcache *cache, const char *program,
                     char *const *env, struct berth_scan *ret_scan,
                     struct berth_err *err);

/* The same without the MPI libraries of the image. */
int berth_scan_program(struct berth_factcache *cache, const char *program,
                       char *const *env, struct berth_scan *ret_scan,
                       struct berth_err *err);

/* Add the file at PATH to the objects of SCAN as PRESENT, if the runner could load it
 * and it can be read. SONAME may be NULL (mpi/objects.h). */
void berth_scan_present(struct berth_scan *scan, const char *soname, const char *path);

/* Append the libraries of the image that a program without a search path of its own
 * finds under NAMES (ends in NULL), in the environment ENV, to the objects of SCAN, as
 * PRESENT. */
int berth_scan_names(struct berth_scan *scan, const char *const *names,
                     char *const *env, struct berth_err *err);

/* A program that is not linked with MPI may load it later (an interpreter), and before
 * or after that GCC's libraries of the image. Append those that have the name of one of
 * STAGED, the host's, to the objects of SCAN, as PRESENT. ENV is that of the program
 * (ends in NULL). */
int berth_scan_twins(struct berth_scan *scan, const struct berth_mpi_objects *staged,
                     char *const *env, struct berth_err *err);

/* The facts of the file PATH, without links, of CACHE if they are there. On success the
 * caller owns *RET_ELF (berth_elf_fini). */
int berth_scan_elf(struct berth_factcache *cache, const char *path,
                   struct berth_elf *ret_elf, struct berth_err *err);

/* Add the library at PATH to OBJECTS. */
int berth_scan_add(struct berth_factcache *cache, struct berth_mpi_objects *objects,
                   enum berth_mpi_role role, const char *soname, const char *path,
                   struct berth_err *err);

void berth_scan_fini(struct berth_scan *scan);
