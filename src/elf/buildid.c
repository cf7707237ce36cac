/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the build ID of a file, which the linker computes from its contents. */

#include <string.h>

#include "elf/reader.h"

/* Is NOTE, whose owner has NAME, one of the GNU tools? */
static bool is_gnu(const GElf_Nhdr *note, const char *name)
{
    if (note->n_namesz != sizeof(ELF_NOTE_GNU))
        return false;
    return memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0;
}

/* The build ID among the notes of DATA, to BYTES (COUNT). Returns its length. */
static size_t find_id(Elf_Data *data, void *bytes, size_t count)
{
    GElf_Nhdr note;
    size_t name, content;
    size_t next = gelf_getnote(data, 0, &note, &name, &content);

    while (next > 0) {
        const char *start = data->d_buf;
        bool is_build_id =
            is_gnu(&note, start + name) && note.n_type == NT_GNU_BUILD_ID;

        if (is_build_id && note.n_descsz <= count) {
            memcpy(bytes, start + content, note.n_descsz);
            return note.n_descsz;
        }
        next = gelf_getnote(data, next, &note, &name, &content);
    }
    return 0;
}

size_t berth_elf_build_id(int fd, void *bytes, size_t count)
{
    Elf_Scn *section = NULL;
    Elf_Data *data = NULL;
    GElf_Shdr header;
    size_t got = 0;
    Elf *elf;

    elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf_kind(elf) == ELF_K_ELF)
        data = berth_elf_next(elf, &section, SHT_NOTE, &header);
    while (data && got == 0) {
        got = find_id(data, bytes, count);
        data = berth_elf_next(elf, &section, SHT_NOTE, &header);
    }
    elf_end(elf);
    return got;
}
