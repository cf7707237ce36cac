/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world of programs: world PROGRAM. All that are started together are one
 * MPI_COMM_WORLD, which is split by the names of the programs. Collectives over the
 * world, over each program and over the leaders of the programs are checked by every
 * rank, which then tells who it is.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tell.h"

/* A block is larger than what ranks of a node send each other in one piece. */
enum { NAME = 32, BLOCK = 16384, TURNS = 2 };

struct world {
    char name[NAME];
    char (*names)[NAME]; /* of all ranks */
    int rank, size;
    MPI_Comm program;
    int program_rank, program_size;
    MPI_Comm leaders; /* MPI_COMM_NULL, but for the first rank of each program */
    int *sent, *got;  /* a block for each rank */
};

static void fail(const char *what)
{
    fprintf(stderr, "world: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

static void find_programs(struct world *world)
{
    int first = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &world->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world->size);
    world->names = calloc(world->size, NAME);
    world->sent = calloc((size_t)world->size * BLOCK, sizeof *world->sent);
    world->got = calloc((size_t)world->size * BLOCK, sizeof *world->got);
    if (!world->names || !world->sent || !world->got)
        fail("out of memory");
    MPI_Allgather(world->name, NAME, MPI_CHAR, world->names, NAME, MPI_CHAR,
                  MPI_COMM_WORLD);
    while (strcmp(world->names[first], world->name) != 0)
        first++;
    MPI_Comm_split(MPI_COMM_WORLD, first, 0, &world->program);
    MPI_Comm_rank(world->program, &world->program_rank);
    MPI_Comm_size(world->program, &world->program_size);
    MPI_Comm_split(MPI_COMM_WORLD, world->program_rank == 0 ? 0 : MPI_UNDEFINED, 0,
                   &world->leaders);
}

/* Every rank sends a block of its own to every other one. */
static void all_to_all(const struct world *world, int turn)
{
    int i, other;

    for (other = 0; other < world->size; other++)
        for (i = 0; i < BLOCK; i++)
            world->sent[other * BLOCK + i] =
                turn + 10 * i + 1000000 * world->rank + 10000000 * other;
    MPI_Alltoall(world->sent, BLOCK, MPI_INT, world->got, BLOCK, MPI_INT,
                 MPI_COMM_WORLD);
    for (other = 0; other < world->size; other++)
        for (i = 0; i < BLOCK; i++)
            if (world->got[other * BLOCK + i] !=
                turn + 10 * i + 1000000 * other + 10000000 * world->rank)
                fail("a block of another rank is wrong");
}

/* The ranks of each program, summed up by the program and known to its leader, are
 * summed up by the leaders and told to all. */
static void sum_up(const struct world *world, int turn)
{
    int i, ours = world->rank + turn, sum, expected = 0, total = 0;

    MPI_Allreduce(&ours, &sum, 1, MPI_INT, MPI_SUM, world->program);
    for (i = 0; i < world->size; i++)
        if (strcmp(world->names[i], world->name) == 0)
            expected += i + turn;
    if (sum != expected)
        fail("the sum over the program is wrong");
    if (world->leaders != MPI_COMM_NULL)
        MPI_Allreduce(&sum, &total, 1, MPI_INT, MPI_SUM, world->leaders);
    MPI_Bcast(&total, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (total != world->size * (world->size - 1) / 2 + world->size * turn)
        fail("the sum over the leaders is wrong");
}

/* The first rank, and then the last one, tells all others a block. */
static void tell_all(const struct world *world, int turn)
{
    int root = turn * (world->size - 1), i;

    for (i = 0; i < BLOCK; i++)
        world->sent[i] = world->rank == root ? root * BLOCK + i : 0;
    MPI_Bcast(world->sent, BLOCK, MPI_INT, root, MPI_COMM_WORLD);
    for (i = 0; i < BLOCK; i++)
        if (world->sent[i] != root * BLOCK + i)
            fail("a block for all is wrong");
}

int main(int argc, char **argv)
{
    struct world world = {.name = ""};
    char version[MPI_MAX_LIBRARY_VERSION_STRING], who[128];
    int turn, length;

    MPI_Init(&argc, &argv);
    if (argc != 2)
        fail("expected the name of a program");
    snprintf(world.name, NAME, "%s", argv[1]);
    find_programs(&world);
    for (turn = 0; turn < TURNS; turn++) {
        all_to_all(&world, turn);
        sum_up(&world, turn);
        tell_all(&world, turn);
    }
    MPI_Get_library_version(version, &length);
    snprintf(who, sizeof who, "rank %d of %d, %s %d of %d", world.rank, world.size,
             world.name, world.program_rank, world.program_size);
    MPI_Barrier(MPI_COMM_WORLD);
    tell_library(who, version);
    if (world.leaders != MPI_COMM_NULL)
        MPI_Comm_free(&world.leaders);
    MPI_Comm_free(&world.program);
    free(world.names);
    free(world.sent);
    free(world.got);
    MPI_Finalize();
    return 0;
}
