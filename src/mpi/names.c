/* SPDX-License-Identifier: Apache-2.0 */
/* Which names mean MPI. */

#include "mpi/names.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

static bool is_any(const char *text, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(text, *names) == 0)
            return true;
    return false;
}

/* mpi_send_, pmpi_send__, mpi_send: procedures of Fortran, as compilers spell them, and
 * the common blocks of Open MPI. */
static bool is_fortran(const char *name)
{
    return berth_text_starts(*name == 'p' ? name + 1 : name, "mpi_");
}

bool berth_mpi_is_openmpi(const char *name)
{
    static const char *const names[] = {"ompi_", "OMPI_", "mpi_fortran_", NULL};

    return berth_text_starts_any(name, names);
}

/* Every MPI has these (The MPIR Process Acquisition Interface, MPI Forum). */
static bool is_for_debuggers(const char *name)
{
    static const char *const names[] = {"MPIR_Breakpoint",
                                        "MPIR_acquired_pre_main",
                                        "MPIR_attach_fifo",
                                        "MPIR_being_debugged",
                                        "MPIR_debug_",
                                        "MPIR_dll_name",
                                        "MPIR_executable_path",
                                        "MPIR_force_to_main",
                                        "MPIR_i_am_starter",
                                        "MPIR_ignore_queues",
                                        "MPIR_partial_attach_ok",
                                        "MPIR_proctable",
                                        "MPIR_server_arguments",
                                        NULL};

    return berth_text_starts_any(name, names);
}

bool berth_mpi_is_mpich(const char *name)
{
    static const char *const names[] = {"MPIR_", "MPII_", "mpifcmb", "mpipriv", NULL};

    return berth_text_starts_any(name, names) && !is_for_debuggers(name);
}

bool berth_mpi_is_symbol(const char *name)
{
    /* Then C; modules of gfortran; C++, whose names start with the namespace. */
    static const char *const names[] = {
        "MPI_",    "PMPI_",    "MPIX_",     "PMPIX_",    "__mpi_",    "__pmpi_",
        "_ZN3MPI", "_ZNK3MPI", "_ZTVN3MPI", "_ZTIN3MPI", "_ZTSN3MPI", NULL};

    return berth_mpi_is_openmpi(name) || berth_mpi_is_mpich(name) ||
           berth_text_starts_any(name, names) || is_fortran(name);
}

static bool wanted_symbol(const char *name)
{
    static const char *const names[] = {"I_MPI_Check_image_status", "PMI_Init",
                                        "PMI2_Init", "PMIx_Init", NULL};

    return berth_mpi_is_symbol(name) || is_any(name, names);
}

/* 4.2.1, 2021.19.0, 6.0.0rc2, 18:2:6 */
static bool is_version(const char *text)
{
    size_t length = strlen(text);

    return length < 20 && isdigit((unsigned char)*text) &&
           strspn(text, "0123456789.:abrc") == length &&
           (strchr(text, '.') || strchr(text, ':'));
}

static bool wanted_text(const char *text)
{
    static const char *const names[] = {
        "MPICH Version:", "MPICH ABI:", "CRAY MPICH", "MVAPICH",
        "ParaStation",    "PMI_FD",     NULL};
    static const char *const whole[] = {"fullinit", "cmd=fullinit", NULL};

    return berth_text_starts_any(text, names) || is_any(text, whole) ||
           is_version(text) || strstr(text, "cmd=fullinit ") ||
           berth_text_starts(text, "Intel(R) MPI Library, Version");
}

const struct berth_elf_question berth_mpi_question = {wanted_symbol, wanted_text};
