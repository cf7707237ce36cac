/* SPDX-License-Identifier: Apache-2.0 */
/* Anybody's bytes, read as a program or library. */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "fuzz.h"
#include "mpi/family.h"
#include "mpi/names.h"

static bool any(const char *text)
{
    (void)text;
    return true;
}

/* They have an answer or a sentence. */
static void try_question(int fd, const struct berth_elf_question *question,
                         const char *file)
{
    struct berth_mpi_library library;
    struct berth_err err = {0};
    struct berth_elf elf;

    if (berth_elf_read(fd, question, &elf, &err) == 0)
        berth_mpi_classify(&elf, file, &library);
    else
        must(strncmp(err.text, "a damaged ELF file (its ", 24) == 0);
    berth_elf_fini(&elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct berth_elf_question everything = {.text = any, .inner = any};
    BERTH_CLOSE int fd = memfd_create("fuzz", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    try_question(fd, &everything, "libmpi.so.12.1.1");
    try_question(fd, &berth_mpi_question, NULL);
    return 0;
}
