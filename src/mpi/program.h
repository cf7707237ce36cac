/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "mpi/objects.h"

/* The MPI that a command in an image wants, as far as its files tell. */
struct berth_mpi_program {
    const char *path; /* of the command; the objects own it */
    enum berth_elf_kind kind;
    const char *machine; /* NULL: not told */
    int bits;
    bool musl;                    /* its C library is musl, or the image has no other */
    enum berth_mpi_family family; /* NONE: nothing that is loaded at start wants MPI;
                                     UNKNOWN: not clear, or marks of several */
    const struct berth_mpi_object
        *inside;             /* the file of its own that has an MPI linked into it
                                statically; NULL: none. The objects own it */
    unsigned int abi_number; /* of BERTH_FAMILY_ABI, see family.h */
    unsigned int parts;      /* of enum berth_mpi_part, that it uses */
    struct berth_strvec
        families; /* if UNKNOWN: the MPIs whose marks were found, for people */
    struct berth_elf_symbols
        needs; /* MPI's symbols, each once; of copied ones the size */
};

/* Reads what the program among OBJECTS wants. These do not count: files that only MPI
 * libraries need (their lower layers), symbols that the program's own libraries define,
 * and symbols that the image's MPI does not define either, because they are missing
 * without us, too. On success the caller owns *RET_PROGRAM (berth_mpi_program_fini);
 * OBJECTS must live as long. Returns 0, or -1 out of memory. */
int berth_mpi_program_read(const struct berth_mpi_objects *objects,
                           struct berth_mpi_program *ret_program,
                           struct berth_err *err);

void berth_mpi_program_fini(struct berth_mpi_program *program);
