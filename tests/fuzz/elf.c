/* SPDX-License-Identifier: Apache-2.0 */
/* Anybody's bytes, read as a program or library. */

#include <stdlib.h>
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct berth_elf_question everything = {.text = any, .inner = any};
    BERTH_CLOSE int fd = memfd_create("fuzz", MFD_CLOEXEC);
    struct berth_mpi_library library;
    struct berth_elf elf;

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        return 0;
    if (berth_elf_read(fd, &everything, &elf, NULL) == 0)
        berth_mpi_classify(&elf, "libmpi.so.12.1.1", &library);
    berth_elf_fini(&elf);
    if (berth_elf_read(fd, &berth_mpi_question, &elf, NULL) == 0)
        berth_mpi_classify(&elf, NULL, &library);
    berth_elf_fini(&elf);
    return 0;
}
