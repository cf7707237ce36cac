/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "mpi/family.h"

/* Is NAME a symbol that only an MPI library defines: a function of the MPI standard in
 * C, Fortran or C++, in any spelling of the compilers, or a private name of MPICH or
 * Open MPI that programs get from mpi.h, mpif.h and the modules? */
bool berth_mpi_is_symbol(const char *name);

/* By what an implementation of MPI, and what is made from it, shows its family. */
struct berth_mpi_implementation {
    enum berth_mpi_family family;
    const char *name;             /* for people, also of a vendor that shows no other */
    bool (*is)(const char *name); /* is NAME a symbol of only this family? */
    const char *inner;            /* a function of it that is not of the standard */
};

/* Each family but the ABI of the standard has one. */
enum { BERTH_MPI_IMPLEMENTATIONS = BERTH_FAMILY_ABI - BERTH_FAMILY_MPICH };

/* If a file has symbols of several, the first counts. */
extern const struct berth_mpi_implementation
    berth_mpi_implementations[BERTH_MPI_IMPLEMENTATIONS];

/* Is NAME a function of the MPI standard in C, or its PMPI_ name? Not the similar names
 * in Open MPI's Fortran libraries (MPI_Send_f, MPI_Send_f08). */
bool berth_mpi_is_c_function(const char *name);

/* Is PATH a program that starts ranks, by the name of its file? */
bool berth_mpi_is_starter(const char *path);

/* If TEXT, a constant in a file, is a mark of the implementation of FAMILY, returns the
 * mark as a bit; else 0. A tool of an MPI may have one of the marks (mpichversion); a
 * file with two has the library linked into it. */
unsigned int berth_mpi_mark(enum berth_mpi_family family, const char *text);

/* The question for every file that is judged here (berth_elf_read): the symbols of MPI
 * and of process managers, and the texts that name a vendor, a version or a protocol.
 */
extern const struct berth_elf_question berth_mpi_question;
