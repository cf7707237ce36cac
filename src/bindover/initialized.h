/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* What the memory of a process shows about an MPI library that it has mapped. */
enum berth_mpi_use {
    BERTH_USE_UNKNOWN,     /* the memory cannot be read, or shows nothing */
    BERTH_USE_LOADED,      /* no call of MPI_Init has begun */
    BERTH_USE_INITIALIZED, /* one has */
};

/* Where a process has a library. */
enum { BERTH_PLACE_ENDS = 16 };
struct berth_mpi_place {
    uint64_t start;
    uint64_t ends[BERTH_PLACE_ENDS]; /* of the parts of its file */
    unsigned int end_count;
};

/* Has process PID, which has an MPI library of a known family at PLACE, called MPI_Init
 * of it?
 *
 * MPI_Init fills tables of the library that are zero before (its .bss). Measured with
 * MPICH 4.0.2 to 5.0.2, Intel MPI 2021.19 and Open MPI 4.1.4 to 5.0.11: of blocks of 4
 * KiB at most 1 is not zero after the library has been loaded, 7 after MPI_Get_version,
 * MPI_Initialized and MPI_T_init_thread, and 18 to 67 after MPI_Init, also when
 * MPI_Finalize has been called. A library with fewer such blocks shows nothing. */
enum berth_mpi_use berth_mpi_read_use(pid_t pid, const struct berth_mpi_place *place);
