/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BERTH_MPI_NAMES_H
#define BERTH_MPI_NAMES_H

#include <stdbool.h>

#include "elf/facts.h"

/* Is NAME a symbol that only an MPI library gives: a function of the MPI standard in C,
 * Fortran or C++, in any spelling of the compilers, or a name that is private to MPICH
 * or Open MPI and gets into programs through mpi.h, mpif.h and the modules? */
bool berth_mpi_is_symbol(const char *name);

/* Is NAME one that gets into programs of Open MPI, or of MPICH, and of no other? */
bool berth_mpi_is_openmpi(const char *name);
bool berth_mpi_is_mpich(const char *name);

/* What to ask every file for that is judged here (berth_elf_read). Keeps the symbols of
 * MPI, those of process managers, and the texts that name a vendor, a version or a
 * protocol. */
extern const struct berth_elf_question berth_mpi_question;

#endif
