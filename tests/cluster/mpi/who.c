/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every rank tells who it is. Its size is what a reduction over all ranks has counted,
 * so that it is the number of those that can talk to each other.
 */
#include <mpi.h>

#include "tell.h"

#ifdef PLUGIN
int run(int argc, char **argv);
int run(int argc, char **argv)
#else
int main(int argc, char **argv)
#endif
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int rank, one = 1, size, length;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&one, &size, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Get_library_version(version, &length);
    tell(rank, size, version);
    MPI_Finalize();
    return 0;
}
