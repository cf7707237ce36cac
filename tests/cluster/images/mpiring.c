/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every rank says one line; then a token goes once around the ring and rank 0
 * says so.  The line: rank, size, host, the image's marker, the MPI library.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void read_marker(char *text, int size)
{
    FILE *file = fopen("/etc/berth-image", "r");

    snprintf(text, size, "host");
    if (!file)
        return;
    if (fgets(text, size, file))
        text[strcspn(text, "\n")] = '\0';
    fclose(file);
}

static void pass_token(int rank, int size)
{
    int token = rank == 0 ? 1 : 0;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;

    if (rank != 0) {
        MPI_Recv(&token, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token++;
    }
    MPI_Send(&token, 1, MPI_INT, right, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Recv(&token, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("ring of %d passed\n", token);
    }
}

int main(int argc, char **argv)
{
    char host[256] = "", marker[64], version[MPI_MAX_LIBRARY_VERSION_STRING];
    int rank, size, length;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    gethostname(host, sizeof host - 1);
    read_marker(marker, sizeof marker);
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n")] = '\0';
    printf("rank %d of %d on %s in %s: %s\n", rank, size, host, marker, version);
    pass_token(rank, size);
    MPI_Finalize();
    return 0;
}
