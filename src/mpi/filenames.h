/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "mpi/family.h"

/* The names of MPI's files, all in one place. A name is a reason to look at a file, or
 * what a program asks for. Only the contents show what a file is (mpi/family.h). */

/* Is NAME, without directories, the name of a file with an MPI interface (libmpi.so.12,
 * libmpich.so.12.2.2, libmpi_usempif08.so.40, libmpi_cray.so.12, ...), or of a
 * component of Open MPI for a process manager (mca_pmix_ext3x.so)? */
bool berth_mpi_is_file_name(const char *name);

/* Does a C library of MPI have the file name NAME? */
bool berth_mpi_is_c_file_name(const char *name);

/* The family that a program without other marks wants when it needs SONAME: MPICH for
 * libmpi.so.12, Open MPI for libmpi.so.40, ... BERTH_FAMILY_NONE when SONAME is not the
 * name of an MPI library, BERTH_FAMILY_UNKNOWN when the name does not tell the family
 * (libmpi.so.0). */
enum berth_mpi_family berth_mpi_family_of_soname(const char *soname);

/* The number after libmpi_abi.so or libmpifort_abi.so; -1: SONAME is another name. */
int berth_mpi_abi_number(const char *soname);

/* The SONAMEs for which a host's loader is asked, ended by NULL. */
extern const char *const berth_mpi_loader_sonames[];

/* How MPICH's libraries are called by MPICH, by Debian and in old links: the two names
 * of a row are those of one library (facts of their packages). Ended by NULL. */
extern const char *const berth_mpi_twins[][2];
