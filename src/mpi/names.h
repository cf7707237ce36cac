/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "mpi/family.h"

/* Is NAME a symbol that only an MPI library gives: a function of the MPI standard in C,
 * Fortran or C++, in any spelling of the compilers, or a name that is private to MPICH
 * or Open MPI and gets into programs through mpi.h, mpif.h and the modules? */
bool berth_mpi_is_symbol(const char *name);

/* Is NAME one that gets into programs of Open MPI, or of MPICH, and of no other? */
bool berth_mpi_is_openmpi(const char *name);
bool berth_mpi_is_mpich(const char *name);

/* Is NAME a function of the MPI standard in C, or its PMPI_ name? Not one of those of
 * Open MPI's Fortran libraries that are spelled like it (MPI_Send_f, MPI_Send_f08). */
bool berth_mpi_is_c_function(const char *name);

/* Is TEXT, a constant in a file, a mark of the implementation of FAMILY? Returns the
 * mark as a bit, or 0. A tool of an MPI may have one of the marks (mpichversion); a
 * file with two has the library linked into it. */
unsigned int berth_mpi_mark(enum berth_mpi_family family, const char *text);

/* The question for every file that is judged here (berth_elf_read): the symbols of MPI
 * and of process managers, and the texts that name a vendor, a version or a protocol.
 */
extern const struct berth_elf_question berth_mpi_question;
