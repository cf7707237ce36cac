/* SPDX-License-Identifier: Apache-2.0 */
/* Knows the symbols and texts by which MPI is recognised. */

#include "mpi/names.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"

/* mpi_send_, pmpi_send__, mpi_send: procedures of Fortran, as compilers spell them, and
 * the common blocks of Open MPI. */
static bool is_fortran(const char *name)
{
    return berth_text_starts(name, "mpi_") || berth_text_starts(name, "pmpi_");
}

static bool is_openmpi(const char *name)
{
    static const char *const names[] = {"ompi_", "OMPI_", "mpi_fortran_", NULL};

    return berth_text_starts_any(name, names);
}

/* mpirun.openmpi, mpiexec.hydra, mpirun-5, mpirun_rsh, mpiexec_mpt; not mpirun_me. */
bool berth_mpi_is_starter(const char *path)
{
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun",
                                        NULL};
    static const char *const ends[] = {"", "_rsh", "_ssh", "_mpt", NULL};
    const char *name = berth_text_base(path);

    for (const char *const *it = names; *it; it++) {
        const char *rest;

        if (!berth_text_starts(name, *it))
            continue;
        rest = name + strlen(*it);
        return *rest == '.' || *rest == '-' || berth_text_is_any(rest, ends);
    }
    return false;
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

static bool is_mpich(const char *name)
{
    static const char *const names[] = {"MPIR_", "MPII_", "mpifcmb", "mpipriv", NULL};

    return berth_text_starts_any(name, names) && !is_for_debuggers(name);
}

const struct berth_mpi_implementation
    berth_mpi_implementations[BERTH_MPI_IMPLEMENTATIONS] = {
        {BERTH_FAMILY_OPENMPI, "Open MPI", is_openmpi, "ompi_mpi_init"},
        {BERTH_FAMILY_MPICH, "MPICH", is_mpich, "MPIR_Err_return_comm"},
};

/* Is NAME a symbol of one implementation? */
static bool is_private(const char *name)
{
    for (size_t i = 0; i < BERTH_MPI_IMPLEMENTATIONS; i++)
        if (berth_mpi_implementations[i].is(name))
            return true;
    return false;
}

bool berth_mpi_is_symbol(const char *name)
{
    /* C; modules of gfortran; C++, whose names start with the namespace. */
    static const char *const names[] = {
        "MPI_",    "PMPI_",    "MPIX_",     "PMPIX_",    "__mpi_",    "__pmpi_",
        "_ZN3MPI", "_ZNK3MPI", "_ZTVN3MPI", "_ZTIN3MPI", "_ZTSN3MPI", NULL};

    return is_private(name) || berth_text_starts_any(name, names) || is_fortran(name);
}

bool berth_mpi_is_c_function(const char *name)
{
    const char *rest = *name == 'P' ? name + 1 : name;

    if (!berth_text_starts(rest, "MPI_"))
        return false;

    /* Constants, and procedures of some compilers, have capitals alone. */
    if (!strpbrk(rest, "abcdefghijklmnopqrstuvwxyz"))
        return false;
    return !berth_text_ends(rest, "_") && !berth_text_ends(rest, "_f") &&
           !berth_text_ends(rest, "_f08");
}

static bool wanted_symbol(const char *name)
{
    static const char *const names[] = {"I_MPI_Check_image_status", "PMI_Init",
                                        "PMI2_Init", "PMIx_Init", NULL};

    return berth_mpi_is_symbol(name) || berth_text_is_any(name, names);
}

/* 4.2.1, 2021.19.0, 6.0.0rc2, 18:2:6 */
static bool is_version(const char *text)
{
    enum { LONGEST = 19 };
    size_t length = strlen(text);

    if (length > LONGEST || !isdigit((unsigned char)*text))
        return false;
    if (strspn(text, "0123456789.:abrc") != length)
        return false;
    return strpbrk(text, ".:") != NULL;
}

static bool wanted_text(const char *text)
{
    static const char *const names[] = {"MPICH Version:",
                                        "MPICH ABI:",
                                        "CRAY MPICH",
                                        "MVAPICH",
                                        "ParaStation",
                                        "PMI_FD",
                                        "Intel(R) MPI Library, Version",
                                        NULL};
    static const char *const whole[] = {"fullinit", "cmd=fullinit", NULL};

    if (berth_text_starts_any(text, names) || berth_text_is_any(text, whole))
        return true;
    return is_version(text) || strstr(text, "cmd=fullinit ");
}

/* Each in two parts, so that berth's own programs do not have it. */
static const struct {
    enum berth_mpi_family family;
    const char *start, *rest;
    bool is_format; /* other text may stand between the parts and behind them */
} marks[] = {
    {BERTH_FAMILY_MPICH, "MPICH Ver", "%s", true},
    {BERTH_FAMILY_MPICH, "Intel(R) MPI Library, Ver", "%s", true},
    {BERTH_FAMILY_MPICH, "MPIR_CVAR_", "ERROR_CHECKING", false},
    {BERTH_FAMILY_MPICH, "**mpi_", "init", false},
    {BERTH_FAMILY_OPENMPI, "Open MPI ", "v%d.%d.%d", true},
    {BERTH_FAMILY_OPENMPI, "ompi_mpi_", "init: ompi_register_mca_variables failed",
     false},
    {BERTH_FAMILY_OPENMPI, "MPI_Get_", "library_version", false},
};

static bool has_mark(const char *text, unsigned int i)
{
    const char *rest;

    if (!berth_text_starts(text, marks[i].start))
        return false;
    rest = text + strlen(marks[i].start);
    if (marks[i].is_format)
        return strstr(rest, marks[i].rest) != NULL;
    return strcmp(rest, marks[i].rest) == 0;
}

unsigned int berth_mpi_mark(enum berth_mpi_family family, const char *text)
{
    for (unsigned int i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (marks[i].family == family && has_mark(text, i))
            return 1U << i;
    return 0;
}

static bool is_mark(const char *text)
{
    for (size_t i = 0; i < BERTH_MPI_IMPLEMENTATIONS; i++)
        if (berth_mpi_mark(berth_mpi_implementations[i].family, text))
            return true;
    return false;
}

/* Is NAME a symbol that shows that an MPI is inside, or which one? */
static bool is_inner(const char *name)
{
    if (strcmp(name, "PMPI_Init") == 0)
        return true;
    for (size_t i = 0; i < BERTH_MPI_IMPLEMENTATIONS; i++)
        if (strcmp(name, berth_mpi_implementations[i].inner) == 0)
            return true;
    return false;
}

const struct berth_elf_question berth_mpi_question = {
    .symbol = wanted_symbol, .text = wanted_text, .mark = is_mark, .inner = is_inner};
