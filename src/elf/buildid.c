/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the build ID of a file, which the linker computes from its contents. */

#include <string.h>

#include "elf/reader.h"

/* The build ID among the notes of DATA, to BYTES (COUNT). Returns its length. */
static size_t find_id(Elf_Data *data, void *bytes, size_t count)
{
    GElf_Nhdr note;
    size_t name, content;
    size_t at = 0;

    while ((at = gelf_getnote(data, at, &note, &name, &content)) > 0) {
        const char *start = data->d_buf;
        bool is_gnu = note.n_namesz == sizeof(ELF_NOTE_GNU) &&
                      memcmp(start + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0;

        if (!is_gnu || note.n_type != NT_GNU_BUILD_ID || note.n_descsz > count)
            continue;
        memcpy(bytes, start + content, note.n_descsz);
        return note.n_descsz;
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
