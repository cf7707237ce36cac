/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that look like those of MPI installs. */

#include "install.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static const struct {
    const char *kind;
    const char *c; /* of its C library */
    const char *fortran;
} kinds[] = {
    {"mpich",
     "int MPIR_Err_return_comm; const char abi[] = \"16:1:4\", number[] = \"4.2.1\";",
     "extern int MPIR_Err_return_comm; int use(void) { return MPIR_Err_return_comm; }"},
    {"openmpi", "int ompi_mpi_comm_world; const char number[] = \"5.0.7\";",
     "extern int ompi_mpi_comm_world; int use(void) { return ompi_mpi_comm_world; }"},
    {"intel",
     "int I_MPI_Check_image_status, MPIR_Dup_fn;"
     "const char number[] = \"2021.19.0\";",
     ""},
    {"cray",
     "int MPIR_Dup_fn; const char name[] = \"CRAY MPICH version 8.1.29.22 (ANL base "
     "3.4a2)\";",
     ""},
    {"mvapich", "int MPIR_Dup_fn; const char name[] = \"MVAPICH2 Version\";", ""},
};

static int kind_of(const char *name)
{
    for (int i = 0; i < COUNT(kinds); i++)
        if (strcmp(kinds[i].kind, name) == 0)
            return i;
    ck_abort_msg("there is no install %s", name);
    return -1;
}

/* The functions by which the parts of MPI are told. */
static const char *functions_of(const char *file)
{
    if (strstr(file, "usempif08"))
        return "void mpi_init_f08_(void) { }";
    if (strstr(file, "cxx"))
        return "void _ZN3MPI4InitEv(void) { }";
    if (strstr(file, "fort") || strstr(file, "mpifh"))
        return "void pmpi_init_(void) { }";
    return "int PMPI_Init(void) { return 0; }";
}

void install_directory(const char *path)
{
    BERTH_FREE char *copy = strdup(path);

    for (char *at = strchr(copy + 1, '/');; at = strchr(at + 1, '/')) {
        if (at)
            *at = '\0';
        ck_assert(mkdir(copy, 0755) == 0 || errno == EEXIST);
        if (!at)
            return;
        *at = '/';
    }
}

/* Compile SOURCE as the library FILE, of that SONAME. */
static void compile(const char *directory, const char *file, const char *source,
                    const char *words)
{
    BERTH_FREE char *left = unit_path(directory, "source.c");

    install_directory(directory);
    unit_compile(directory, source, "-shared -fPIC -Wl,-soname,%s %s -o %s", file,
                 words, file);
    ck_assert_int_eq(unlink(left), 0);
}

void install_library(const char *directory, const char *kind, const char *file,
                     const char *words)
{
    int i = kind_of(kind);
    const char *functions = functions_of(file);
    bool is_c = strstr(functions, "PMPI_Init") != NULL;
    BERTH_FREE char *source =
        unit_format("%s %s\n", functions, is_c ? kinds[i].c : kinds[i].fortran);

    compile(directory, file, source, words);
}

void install_plain(const char *directory, const char *file, const char *words)
{
    compile(directory, file, "int nothing;", words);
}
