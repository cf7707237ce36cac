/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the bytes of the file for an address in memory, by the program headers, and
 * checks every bound. */

#include "elf/reader.h"

#include <string.h>

int berth_elf_damaged(struct berth_err *err, const char *what)
{
    return berth_err_set(err, "a damaged ELF file (its %s); install or build it again",
                         what);
}

/* Where ADDRESS is in the file, and how many bytes follow it in its segment. */
static bool locate(struct berth_elf_reader *reader, uint64_t address,
                   uint64_t *ret_offset, uint64_t *ret_room)
{
    GElf_Phdr segment;

    for (size_t i = 0; i < reader->segments; i++) {
        if (!gelf_getphdr(reader->elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
            address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
            continue;
        *ret_offset = segment.p_offset + (address - segment.p_vaddr);
        if (*ret_offset < segment.p_offset || *ret_offset >= reader->size)
            return false;
        *ret_room = segment.p_filesz - (address - segment.p_vaddr);
        if (*ret_room > reader->size - *ret_offset)
            *ret_room = reader->size - *ret_offset;
        return true;
    }
    return false;
}

Elf_Data *berth_elf_table_upto(struct berth_elf_reader *reader, uint64_t address,
                               uint64_t count, Elf_Type type)
{
    uint64_t offset, room;

    if (address == 0 || count == 0 || !locate(reader, address, &offset, &room))
        return NULL;
    if (count > room)
        count = room;
    if (count > BERTH_ELF_TABLE_MAX)
        return NULL;
    return elf_getdata_rawchunk(reader->elf, (int64_t)offset, count, type);
}

Elf_Data *berth_elf_table(struct berth_elf_reader *reader, uint64_t address,
                          uint64_t count, Elf_Type type)
{
    uint64_t offset, room;

    if (!locate(reader, address, &offset, &room) || count > room)
        return NULL;
    return berth_elf_table_upto(reader, address, count, type);
}

const char *berth_elf_string(const struct berth_elf_reader *reader, uint64_t offset)
{
    const char *text = reader->text ? reader->text->d_buf : NULL;

    if (!text || offset >= reader->text->d_size ||
        !memchr(text + offset, '\0', reader->text->d_size - offset))
        return NULL;
    return text + offset;
}
