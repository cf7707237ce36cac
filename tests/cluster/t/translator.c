/* SPDX-License-Identifier: Apache-2.0 */
/* A translator for tests: it offers a small part of Open MPI's interface, and calls the
 * MPICH of the host. The numbers are those of MPICH's ABI; the objects have the size
 * that Open MPI's have, since programs copy them. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define OBJECT(name, size) char name[size] __attribute__((aligned(32)))

enum { WORLD = 0x44000000, SUM = 0x58000003, INT = 0x4c000405 };

OBJECT(ompi_mpi_comm_world, 512);
OBJECT(ompi_mpi_int, 512);
OBJECT(ompi_mpi_op_sum, 2048);

/* Its calls of MPI functions are its own, and not these. */
static void *find(const char *name)
{
    static void *mpich;

    if (!mpich)
        mpich = dlopen("libmpich.so.12", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!mpich || !dlsym(mpich, name)) {
        fprintf(stderr, "translator: %s\n", dlerror());
        exit(1);
    }
    return dlsym(mpich, name);
}

int MPI_Init(int *argc, char ***argv)
{
    return ((int (*)(int *, char ***))find("MPI_Init"))(argc, argv);
}

int PMPI_Init(int *argc, char ***argv)
{
    return MPI_Init(argc, argv);
}

int MPI_Finalize(void)
{
    return ((int (*)(void))find("MPI_Finalize"))();
}

int MPI_Comm_rank(void *comm, int *rank)
{
    (void)comm;
    return ((int (*)(int, int *))find("MPI_Comm_rank"))(WORLD, rank);
}

int MPI_Comm_size(void *comm, int *size)
{
    (void)comm;
    return ((int (*)(int, int *))find("MPI_Comm_size"))(WORLD, size);
}

int MPI_Barrier(void *comm)
{
    (void)comm;
    return ((int (*)(int))find("MPI_Barrier"))(WORLD);
}

int MPI_Allreduce(const void *from, void *to, int count, void *type, void *op,
                  void *comm)
{
    if (comm != ompi_mpi_comm_world || type != ompi_mpi_int || op != ompi_mpi_op_sum)
        exit(2);
    return ((int (*)(const void *, void *, int, int, int, int))find("MPI_Allreduce"))(
        from, to, count, INT, SUM, WORLD);
}

/* The text of MPICH is longer than the 256 bytes that a program of Open MPI has for it.
 */
int MPI_Get_library_version(char *text, int *length)
{
    char all[8192];
    int result = ((int (*)(char *, int *))find("MPI_Get_library_version"))(all, length);

    *length = snprintf(text, 256, "%s", all);
    if (*length > 255)
        *length = 255;
    return result;
}
