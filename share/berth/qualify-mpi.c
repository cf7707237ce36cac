/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The MPI program of `berth qualify`, which builds it with the mpicc of an image or of a
 * host. These may be old, so the program uses no more than MPI-1 and Linux. It prints lines
 * `berth-qualify KEY VALUE...`, which qualify beside this file reads:
 *
 *     qualify library     which MPI library this is, without MPI_Init
 *     qualify ring        do all ranks find each other?
 *     qualify speed       latency and bandwidth of two ranks
 */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BLOCKS = 9, LARGE = 4 << 20, SMALL = 8, NAME = 256, SECRET = 4711 };

static int rank, size;
static char *sent, *got;

static void say_library(void)
{
#if MPI_VERSION >= 3
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(text, &length);
    printf("berth-qualify library %.*s\n", (int)strcspn(text, ",\n"), text);
#else
    printf("berth-qualify library an MPI before MPI-3\n");
#endif
}

/* Has this process loaded a copy that berth has made of a library of the host? */
static int has_copy(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    int found = 0;

    while (maps && fgets(line, sizeof line, maps))
        found |= strstr(line, "/.berth/") != NULL;
    if (maps)
        fclose(maps);
    return found;
}

/* Network cards that this process has open. */
static void say_devices(void)
{
    static const char *const cards[] = {"/dev/infiniband/", "/dev/cxi", "/dev/hfi1",
                                        "/dev/ss0", "/dev/xpmem", NULL};
    int fd, i;

    for (fd = 3; fd < 1024; fd++) {
        char link[64], path[256];
        ssize_t length;

        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        length = readlink(link, path, sizeof path - 1);
        if (length <= 0)
            continue;
        path[length] = '\0';
        for (i = 0; cards[i]; i++)
            if (strncmp(path, cards[i], strlen(cards[i])) == 0)
                printf("berth-qualify open %s\n", path);
    }
}

/* Can rank 0 read the memory of another rank of its node (CMA)? NAMES: of the nodes. */
static void say_cma(const char *names)
{
    long told[2], secret = SECRET, seen = 0;
    int other = 1;

    while (other < size && strcmp(names, names + (size_t)other * NAME) != 0)
        other++;
    if (other < size && rank == other) {
        told[0] = (long)getpid();
        told[1] = (long)&secret;
        MPI_Send(told, 2, MPI_LONG, 0, 3, MPI_COMM_WORLD);
        MPI_Recv(told, 1, MPI_LONG, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (other < size && rank == 0) {
        struct iovec here = {&seen, sizeof seen}, there;
        ssize_t count;

        MPI_Recv(told, 2, MPI_LONG, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        there.iov_base = (void *)told[1];
        there.iov_len = sizeof seen;
        count = process_vm_readv((pid_t)told[0], &here, 1, &there, 1, 0);
        if (count == sizeof seen && seen == SECRET)
            printf("berth-qualify CMA yes\n");
        else
            printf("berth-qualify CMA no, %s\n",
                   count < 0 ? strerror(errno) : "it read something else");
        MPI_Send(told, 1, MPI_LONG, other, 3, MPI_COMM_WORLD);
    }
}

/* A number goes round, and each rank adds 1. */
static int ring(void)
{
    int number = 0, next = (rank + 1) % size, last = (rank + size - 1) % size;

    if (size == 1)
        return 1;
    if (rank > 0)
        MPI_Recv(&number, 1, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    number++;
    MPI_Send(&number, 1, MPI_INT, next, 0, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Recv(&number, 1, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return number;
}

static void test_ring(void)
{
    char own[NAME] = "", *names = calloc((size_t)size, NAME);
    int length, nodes = 0, passed, copy, copies = 0, i;

    if (!names)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Get_processor_name(own, &length);
    MPI_Gather(own, NAME, MPI_CHAR, names, NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Bcast(names, size * NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    passed = ring();
    copy = has_copy(); /* libraries of networks are loaded when they are needed */
    MPI_Reduce(&copy, &copies, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    for (i = 0; i < size; i++) {
        int same = 0;

        while (strcmp(names + (size_t)same * NAME, names + (size_t)i * NAME) != 0)
            same++;
        nodes += same == i;
    }
    say_cma(names);
    if (rank == 0 && passed == size) {
        say_library();
        say_devices();
        printf("berth-qualify loaded %d\nberth-qualify ring %d %d\n", copies, size,
               nodes);
    }
    free(names);
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

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Seconds of one exchange there and back: the median of blocks of TURNS, of which the
 * first is not counted. */
static double measure(int bytes, int turns)
{
    double blocks[BLOCKS], start;
    int block, turn;

    for (block = -1; block < BLOCKS; block++) {
        MPI_Barrier(MPI_COMM_WORLD);
        start = MPI_Wtime();
        for (turn = 0; turn < turns; turn++)
            ping_pong(bytes);
        if (block >= 0)
            blocks[block] = (MPI_Wtime() - start) / turns;
    }
    qsort(blocks, BLOCKS, sizeof *blocks, ascending);
    return blocks[BLOCKS / 2];
}

static void test_speed(void)
{
    double small, large;

    sent = calloc(1, LARGE);
    got = calloc(1, LARGE);
    if (!sent || !got || size != 2)
        MPI_Abort(MPI_COMM_WORLD, 1);
    small = measure(SMALL, 500) / 2;
    large = measure(LARGE, 4) / 2;
    if (rank == 0)
        printf("berth-qualify latency %.3f\nberth-qualify bandwidth %.3f\n", small * 1e6,
               LARGE / large / 1e6);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "library") == 0) {
        say_library();
        return 0;
    }
    printf("berth-qualify started\n");
    fflush(stdout);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc == 2 && strcmp(argv[1], "speed") == 0)
        test_speed();
    else
        test_ring();
    MPI_Finalize();
    return 0;
}
