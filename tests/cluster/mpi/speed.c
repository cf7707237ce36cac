/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast MPI is: `speed`. Two ranks measure latency and bandwidth between them, more
 * ranks their collectives. Prints `TEST BYTES VALUE`: microseconds, for bandwidth MB/s.
 * Each VALUE is the median of blocks, so that one that the machine has disturbed does
 * not count. What is measured begins a second after the start, when all that has to do
 * with it is over.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 9, LARGE = 4 << 20, WINDOW = 8, WARM_SECONDS = 1 };

static int rank, size;
static char *sent, *got;

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void ping_pong(int bytes)
{
    if (rank == 0) {
        MPI_Send(sent, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(got, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(got, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(sent, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
}

static void stream(int bytes)
{
    MPI_Request requests[WINDOW];
    int i;

    for (i = 0; i < WINDOW; i++)
        if (rank == 0)
            MPI_Isend(sent, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(got, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
        MPI_Recv(got, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(sent, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
}

static void gather(int bytes)
{
    MPI_Allgather(sent, bytes, MPI_CHAR, got, bytes, MPI_CHAR, MPI_COMM_WORLD);
}

static void transpose(int bytes)
{
    MPI_Alltoall(sent, bytes, MPI_CHAR, got, bytes, MPI_CHAR, MPI_COMM_WORLD);
}

/* Until rank 0 says that it is enough. */
static void warm_up(void (*test)(int), int bytes)
{
    double start = MPI_Wtime();
    int is_over = 0;

    while (!is_over) {
        test(bytes);
        is_over = MPI_Wtime() - start > WARM_SECONDS;
        MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

/* One number for all ranks: rank 0 measures. The first block warms up. */
static double median(void (*test)(int), int bytes, int turns)
{
    double blocks[BLOCKS], start;
    int block, turn;

    for (block = -1; block < BLOCKS; block++) {
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        for (turn = 0; turn < turns; turn++)
            test(bytes);
        if (block >= 0)
            blocks[block] = (MPI_Wtime() - start) / turns;
    }
    qsort(blocks, BLOCKS, sizeof *blocks, ascending);
    return blocks[BLOCKS / 2];
}

static void say(const char *test, int bytes, double value)
{
    if (rank == 0)
        printf("%s %d %.3f\n", test, bytes, value);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 1 << 10, 64 << 10, 1 << 20};
    unsigned i;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2)
        MPI_Abort(MPI_COMM_WORLD, 1);
    sent = calloc(size, LARGE);
    got = calloc(size, LARGE);
    if (!sent || !got)
        MPI_Abort(MPI_COMM_WORLD, 1);
    warm_up(size == 2 ? ping_pong : gather, 8);
    if (size == 2) {
        say("latency", 8, median(ping_pong, 8, 5000) / 2 * 1e6);
        say("bandwidth", LARGE, WINDOW * LARGE / median(stream, LARGE, 8) / 1e6);
    }
    for (i = 0; size > 2 && i < sizeof sizes / sizeof *sizes; i++) {
        int turns = sizes[i] < 64 << 10 ? 40 : 4;

        say("allgather", sizes[i], median(gather, sizes[i], turns) * 1e6);
        say("alltoall", sizes[i], median(transpose, sizes[i], turns) * 1e6);
    }
    MPI_Finalize();
    return 0;
}
