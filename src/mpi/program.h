/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_MPI_PROGRAM_H
#define BERTH_MPI_PROGRAM_H

#include "mpi/objects.h"

/* What a command of an image wants of MPI, as far as its files tell. */
struct berth_mpi_program {
    const char *path; /* of the command; the objects own it */
    enum berth_elf_kind kind;
    const char *machine; /* NULL: not told */
    int bits;
    bool musl;                    /* its C library is musl, or the image has no other */
    enum berth_mpi_family family; /* NONE: nothing that is loaded at start wants MPI;
                                     UNKNOWN: it cannot be told, or marks of several */
    const struct berth_mpi_object
        *inside;                  /* the file of its own that has an MPI linked into it
                                     statically; NULL: none. The objects own it */
    unsigned int abi_number;      /* of BERTH_FAMILY_ABI, see family.h */
    unsigned int parts;           /* of enum berth_mpi_part, that it uses */
    struct berth_strvec families; /* UNKNOWN: whose marks were found, for people */
    struct berth_elf_symbols
        needs; /* MPI's symbols, each once; of copied ones the size */
};

/* What the program among OBJECTS wants. Files that only MPI libraries need (their lower
 * layers) do not count, nor do symbols that the program's own libraries define, nor
 * those that the image's MPI does not define either: they are missing today too. On
 * success the caller owns *RET_PROGRAM (berth_mpi_program_fini); OBJECTS must live as
 * long. Returns 0, or -1 out of memory. */
int berth_mpi_program_read(const struct berth_mpi_objects *objects,
                           struct berth_mpi_program *ret_program,
                           struct berth_err *err);

void berth_mpi_program_fini(struct berth_mpi_program *program);

#endif
