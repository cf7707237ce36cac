/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/strvec.h"
#include "elf/facts.h"

/* A library can replace another one at load time only if both are of one family. A host
 * can replace those from MPICH to ABI. */
enum berth_mpi_family {
    BERTH_FAMILY_NONE,    /* not an MPI library */
    BERTH_FAMILY_MPICH,   /* MPICH and what has its ABI: Intel, Cray, MVAPICH, ... */
    BERTH_FAMILY_OPENMPI, /* Open MPI */
    BERTH_FAMILY_ABI,     /* the ABI of the MPI 5 standard: libmpi_abi */
    BERTH_FAMILY_UNKNOWN, /* an MPI library of a family that berth does not know */
};

enum { BERTH_FAMILIES = BERTH_FAMILY_ABI - BERTH_FAMILY_MPICH + 1 };

/* The values of `family` in a profile, in the order of enum berth_mpi_family. */
#define BERTH_FAMILY_WORDS "NONE|mpich|openmpi"

/* Is FAMILY that of an implementation? Not the standard's ABI, which any implementation
 * may have, nor an unknown one. */
bool berth_mpi_family_is_implementation(enum berth_mpi_family family);

/* The interfaces that a library offers to programs; a file may offer several. A file of
 * the host can replace one of the image if it offers all interfaces of the other. */
enum berth_mpi_part {
    BERTH_PART_C = 1,
    BERTH_PART_FORTRAN = 2, /* mpif.h and the procedures of `use mpi` */
    BERTH_PART_USEMPI = 4, /* the part of `use mpi` that Open MPI has in its own file */
    BERTH_PART_F08 = 8,    /* `use mpi_f08` */
    BERTH_PART_CXX = 16,   /* the C++ bindings, which MPI 3.0 removed */
    BERTH_PART_ILP64 = 32, /* Intel's Fortran interface with INTEGER of 8 bytes */
    BERTH_PART_CORE = 64,  /* libopen_mpi of Open MPI 6, with the handles: its compilers
                             link programs with it beside the C library */
};
#define BERTH_PART_COUNT 7

struct berth_mpi_library {
    enum berth_mpi_family family;
    unsigned int parts;      /* of enum berth_mpi_part */
    const char *vendor;      /* for people, e.g. "Intel MPI"; NULL: not known */
    char version[24];        /* for people, e.g. "4.2.1"; "": not known */
    unsigned int abi_number; /* BERTH_FAMILY_ABI: the number after libmpi_abi.so; 1 is
                                the standard's, 0 was its name in MPICH 5.0.0 and 5.0.1,
                                and 12 that of a forerunner with other values */
    bool is_inside; /* it is linked statically into another file: a program, or a
                       library that does not offer MPI to programs */
};

/* Sets *RET_LIBRARY to the MPI that the file with the facts ELF (read with
 * berth_mpi_question) is, or has linked into it (is_inside). Judges by the symbols that
 * the file defines and needs, never by its SONAME alone: libmpi.so.12 may be MPICH or
 * Open MPI 1.10. FILE is the name of the file without links (libmpi.so.40.30.4), which
 * shows the release if nothing else does; NULL: not known.
 *
 * Tools that stand between a program and MPI (profilers), MPI's Java libraries, and
 * Open MPI's own lower layers are BERTH_FAMILY_NONE: no program is linked with them in
 * place of MPI. */
void berth_mpi_classify(const struct berth_elf *elf, const char *file,
                        struct berth_mpi_library *ret_library);

/* "Open MPI", "MPICH", "the MPI standard ABI", "an unknown MPI" */
const char *berth_mpi_family_name(enum berth_mpi_family family);

/* Enough bytes for the text of berth_mpi_library_name(). */
enum { BERTH_MPI_NAME_SIZE = 64 };

/* Writes vendor and version of LIBRARY, for people, to NAME (SIZE bytes):
 * "MPICH 4.2.3", "Intel MPI". Returns NAME. */
const char *berth_mpi_library_name(const struct berth_mpi_library *library, char *name,
                                   size_t size);

/* The name of PART, one bit, for people: "Fortran (mpif.h, use mpi)". */
const char *berth_mpi_part_name(enum berth_mpi_part part);

/* Append the names of PARTS, bits of enum berth_mpi_part, to RET. */
void berth_mpi_part_names(unsigned int parts, struct berth_strvec *ret);
