// SPDX-License-Identifier: Apache-2.0
// who.c in C++, through the C++ bindings where the library still has them.
#include <mpi.h>

extern "C" {
#include "tell.h"
}

int main(int argc, char **argv)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int one = 1, size, length;

    MPI_Init(&argc, &argv);
#ifdef BINDINGS
    const int rank = MPI::COMM_WORLD.Get_rank();
    MPI::COMM_WORLD.Allreduce(&one, &size, 1, MPI::INT, MPI::SUM);
#else
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&one, &size, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#endif
    MPI_Get_library_version(version, &length);
    tell(rank, size, version);
    MPI_Finalize();
    return 0;
}
