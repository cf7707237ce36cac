/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A coupled model, as far as MPI sees it: couple MODEL [EXCHANGES]. All that are
 * started together are one MPI_COMM_WORLD; those with the same MODEL get a communicator
 * of their own, and the two models talk over an inter-communicator. In each exchange
 * the leaders swap a field, every rank gets what its model's leader has got, and checks
 * it; then the other model's ranks are summed up. Each leader prints a line.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tell.h"

enum { NAME = 32, FIELD = 4096, TAG = 7 };

struct model {
    char name[NAME], other[NAME];
    MPI_Comm all, between;
    int rank, size, others;
};

static void fail(const char *what)
{
    fprintf(stderr, "couple: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* The names of all ranks say who leads which model. */
static void find_models(struct model *model, char (*names)[NAME], int size)
{
    int rank, mine = -1, other = -1;

    model->others = 0;
    for (rank = 0; rank < size; rank++) {
        if (strcmp(names[rank], model->name) == 0) {
            mine = mine < 0 ? rank : mine;
            continue;
        }
        other = other < 0 ? rank : other;
        if (strcmp(names[rank], names[other]) != 0)
            fail("more than two models");
        model->others++;
    }
    if (other < 0)
        fail("there is no other model in MPI_COMM_WORLD");
    snprintf(model->other, NAME, "%s", names[other]);
    MPI_Comm_split(MPI_COMM_WORLD, mine, 0, &model->all);
    MPI_Comm_rank(model->all, &model->rank);
    MPI_Comm_size(model->all, &model->size);
    MPI_Intercomm_create(model->all, 0, MPI_COMM_WORLD, other, TAG, &model->between);
}

static double value(const char *name, int turn, int i)
{
    return name[0] * 1e8 + turn * 1e4 + i;
}

static void exchange(const struct model *model, int turn)
{
    static double sent[FIELD], got[FIELD];
    int i, ours = model->rank + turn, sum, expected = 0;

    for (i = 0; i < FIELD; i++)
        sent[i] = value(model->name, turn, i);
    memset(got, 0, sizeof got);
    if (model->rank == 0)
        MPI_Sendrecv(sent, FIELD, MPI_DOUBLE, 0, turn, got, FIELD, MPI_DOUBLE, 0, turn,
                     model->between, MPI_STATUS_IGNORE);
    MPI_Bcast(got, FIELD, MPI_DOUBLE, 0, model->all);
    for (i = 0; i < FIELD; i++)
        if (got[i] != value(model->other, turn, i))
            fail("the other model's field is wrong");
    MPI_Allreduce(&ours, &sum, 1, MPI_INT, MPI_SUM, model->between);
    for (i = 0; i < model->others; i++)
        expected += i + turn;
    if (sum != expected)
        fail("the sum over the other model is wrong");
}

int main(int argc, char **argv)
{
    struct model model = {.name = ""};
    int rank, size, turn, turns = argc > 2 ? atoi(argv[2]) : 100, length;
    char version[MPI_MAX_LIBRARY_VERSION_STRING], marker[64], host[256] = "";
    char(*names)[NAME];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    names = calloc(size, NAME);
    if (argc < 2 || !names)
        fail("expected a model's name");
    snprintf(model.name, NAME, "%s", argv[1]);
    MPI_Allgather(model.name, NAME, MPI_CHAR, names, NAME, MPI_CHAR, MPI_COMM_WORLD);
    find_models(&model, names, size);
    for (turn = 0; turn < turns; turn++)
        exchange(&model, turn);
    MPI_Get_library_version(version, &length);
    gethostname(host, sizeof host - 1);
    tell_marker(marker, sizeof marker);
    if (model.rank == 0)
        printf("%s: %d of %d ranks, %d exchanges with %s, on %s in %s: %.*s\n",
               model.name, model.size, size, turns, model.other, host, marker,
               (int)strcspn(version, "\n"), version);
    MPI_Comm_free(&model.between);
    MPI_Comm_free(&model.all);
    free(names);
    MPI_Finalize();
    return 0;
}
