/* SPDX-License-Identifier: Apache-2.0 */
/* Which library of an MPI has functions that programs look for in another. */

#include "stage/sisters.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "mpi/names.h"

static int read_functions(const struct berth_gathered_file *file,
                          struct berth_elf *ret_elf, struct berth_err *err)
{
    static const struct berth_elf_question question = {.symbol =
                                                           berth_mpi_is_c_function};
    BERTH_CLOSE int fd = open(file->source, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return berth_err_set(err, "'%s': cannot be read: %s", file->source,
                             strerror(errno));
    if (berth_elf_read(fd, &question, ret_elf, err) < 0)
        return berth_err_at(err, "'%s'", file->source);
    return 0;
}

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

static int add_sister(struct berth_gathered_file *file, const struct berth_elf *library,
                      const struct berth_gathered_file *sister, struct berth_err *err)
{
    struct berth_elf elf;

    if (!sister->mpi || sister->mpi->family != file->mpi->family ||
        (sister->mpi->parts & BERTH_PART_C) ||
        berth_strvec_has(&library->needed, sister->mpi->soname))
        return 0;
    if (read_functions(sister, &elf, err) < 0)
        return -1;
    if (has_more(&elf, library))
        berth_strvec_push(&file->needs, sister->mpi->soname);
    berth_elf_fini(&elf);
    return file->needs.failed ? berth_err_oom(err) : 0;
}

int berth_sisters_add(struct berth_gathered *gathered, struct berth_err *err)
{
    int result = 0;

    for (size_t i = 0; result == 0 && i < gathered->count; i++) {
        struct berth_gathered_file *file = &gathered->files[i];
        struct berth_elf library;

        if (!file->mpi || !(file->mpi->parts & BERTH_PART_C))
            continue;
        if (read_functions(file, &library, err) < 0)
            return -1;
        for (size_t j = 0; result == 0 && j < gathered->count; j++)
            result = add_sister(file, &library, &gathered->files[j], err);
        berth_elf_fini(&library);
    }
    return result;
}
