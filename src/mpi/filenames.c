/* SPDX-License-Identifier: Apache-2.0 */
/* Knows how files of MPI are called. */

#include "mpi/filenames.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

bool berth_mpi_is_file_name(const char *name)
{
    /* libfmpich is the Fortran library of MPICH 3. */
    static const char *const starts[] = {"libmpi", "libopen_mpi", "libfmpich",
                                         "mca_pmix_", NULL};
    const char *so = strstr(name, ".so");

    if (!so || so[strspn(so, ".so0123456789")] != '\0')
        return false;
    return berth_text_starts_any(name, starts);
}

bool berth_mpi_is_c_file_name(const char *name)
{
    /* Cray's libraries have the name of a compiler in theirs. */
    static const char *const starts[] = {"libmpi.so",  "libmpich.so",   "libmpi_abi.so",
                                         "libmpich_",  "libmpi_cray",   "libmpi_gnu",
                                         "libmpi_amd", "libmpi_nvidia", NULL};

    return berth_text_starts_any(name, starts);
}

const char *const berth_mpi_loader_sonames[] = {"libmpi.so.12", "libmpich.so.12",
                                                "libmpi.so.40", NULL};

const char *const berth_mpi_twins[][2] = {
    {"libmpi.so", "libmpich.so"},
    {"libmpifort.so", "libmpichfort.so"},
    {"libmpifort.so", "libmpichf90.so"},
    {"libmpicxx.so", "libmpichcxx.so"},
    {NULL, NULL},
};

int berth_mpi_abi_number(const char *soname)
{
    static const char *const stems[] = {"libmpi_abi.so.", "libmpifort_abi.so."};

    for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); i++) {
        const char *number;

        if (!berth_text_starts(soname, stems[i]))
            continue;
        number = soname + strlen(stems[i]);
        if (isdigit((unsigned char)*number))
            return atoi(number);
    }
    return -1;
}

enum berth_mpi_family berth_mpi_family_of_soname(const char *soname)
{
    static const char *const openmpi[] = {"libmpi_mpifh", "libmpi_usempi", "libmpi_cxx",
                                          NULL};
    const char *number = strstr(soname, ".so.");

    if (!berth_text_starts(soname, "libmpi") || !number)
        return BERTH_FAMILY_NONE;
    if (berth_mpi_abi_number(soname) >= 0)
        return BERTH_FAMILY_ABI;
    if (berth_text_starts(soname, "libmpich"))
        return BERTH_FAMILY_MPICH;
    if (berth_text_starts_any(soname, openmpi))
        return BERTH_FAMILY_OPENMPI;
    if (strcmp(number, ".so.40") == 0 || strcmp(number, ".so.20") == 0)
        return BERTH_FAMILY_OPENMPI;
    if (strcmp(number, ".so.12") == 0)
        return BERTH_FAMILY_MPICH;
    return BERTH_FAMILY_UNKNOWN;
}
