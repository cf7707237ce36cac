/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the libraries of an MPI that have functions which programs expect in libmpi. */

#include "bindover/siblings.h"

#include <string.h>

#include "mpi/names.h"

static const struct berth_elf_question functions = {.symbol = berth_mpi_is_c_function};

/* MPICH before 5.0 has the functions for statuses of Fortran 2008 (MPI_Status_c2f08) in
 * its Fortran library. A program in C must not load libgfortran just for these. */
static bool has_more(const struct berth_elf *sister, const struct berth_elf *library)
{
    for (size_t i = 0; i < sister->defined.count; i++) {
        const char *name = sister->defined.items[i].name;

        if (!strstr(name, "f08") && !berth_elf_find(&library->defined, name))
            return true;
    }
    return false;
}

/* Does OTHER have another part of the MPI of which FILE is the C library? */
static bool is_sister(const struct berth_gathered_file *other,
                      const struct berth_gathered_file *file)
{
    if (!other->mpi || other->mpi->family != file->mpi->family)
        return false;
    return !(other->mpi->parts & BERTH_PART_C);
}

static int add_sister(struct berth_gathered_file *file, const struct berth_elf *library,
                      const struct berth_gathered_file *sister, struct berth_err *err)
{
    BERTH_ELF struct berth_elf elf = {0};

    if (!is_sister(sister, file))
        return 0;
    if (berth_strvec_has(&library->needed, sister->mpi->soname))
        return 0;
    if (berth_elf_read_path(sister->source, &functions, &elf, err) < 0)
        return -1;
    if (has_more(&elf, library))
        berth_strvec_push(&file->needs, sister->mpi->soname);
    if (file->needs.failed)
        return berth_err_oom(err);
    return 0;
}

int berth_sisters_add(struct berth_gathered *gathered, struct berth_err *err)
{
    for (size_t i = 0; i < gathered->count; i++) {
        struct berth_gathered_file *file = &gathered->files[i];
        BERTH_ELF struct berth_elf library = {0};

        if (!file->mpi || !(file->mpi->parts & BERTH_PART_C))
            continue;
        if (berth_elf_read_path(file->source, &functions, &library, err) < 0)
            return -1;
        for (size_t j = 0; j < gathered->count; j++)
            if (add_sister(file, &library, &gathered->files[j], err) < 0)
                return -1;
    }
    return 0;
}
