/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "mpi/objects.h"

/* Advice at the end of a refusal. */
#define BERTH_RULES_HYBRID "choose --mpi-bind=hybrid"

/* The MPI that a command in an image wants, as far as its files tell. */
struct berth_mpi_program {
    const char *path; /* of the command; the objects own it */
    enum berth_elf_kind kind;
    const char *machine; /* as `uname -m` prints it; NULL: not known */
    int bits;
    bool musl;                    /* its C library is musl, or the image has no other */
    enum berth_mpi_family family; /* NONE: no file that is loaded at start needs MPI;
                                     UNKNOWN: not clear, or marks of several */
    const struct berth_mpi_object
        *inside;                  /* the file of its own that has an MPI linked into it
                                     statically; NULL: none. The objects own it */
    unsigned int abi_number;      /* of BERTH_FAMILY_ABI, see family.h */
    unsigned int parts;           /* of enum berth_mpi_part, that it uses */
    struct berth_strvec families; /* the MPIs whose marks were found, for people */
    struct berth_elf_symbols
        needs; /* MPI's symbols, each once; of copied ones the size */
};

/* Reads what the program among OBJECTS needs of MPI. These do not count: files that
 * only MPI libraries need (their lower layers), symbols that the program's own
 * libraries define, and symbols that the image's MPI does not define either, because
 * the program lacks them in any case. Returns 0 with *RET_PROGRAM, which the caller
 * owns (berth_mpi_program_fini) and which needs OBJECTS to live as long; -1 out of
 * memory. */
int berth_mpi_program_read(const struct berth_mpi_objects *objects,
                           struct berth_mpi_program *ret_program,
                           struct berth_err *err);

void berth_mpi_program_fini(struct berth_mpi_program *program);

/* Refuses a PROGRAM whose MPI nothing can replace: MPI is linked into it statically, it
 * starts ranks itself (mpirun), or it has marks of several MPIs. Returns 0, or -1 with
 * a sentence in ERR (may be NULL). */
int berth_mpi_check_program(const struct berth_mpi_program *program,
                            struct berth_err *err);

/* The sentence for the file PATH, into which an MPI is linked that is called WITH
 * (NULL: none is known). Always returns -1. */
int berth_mpi_refuse_static(const char *path, const char *with, struct berth_err *err);
