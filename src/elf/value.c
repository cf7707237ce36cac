/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a constant of a library without loading it. */

#include "elf/facts.h"

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* The symbol NAME in the section, which libelf has checked. */
static bool find_in(Elf *elf, Elf_Scn *section, const char *name, GElf_Sym *ret_symbol)
{
    Elf_Data *data = elf_getdata(section, NULL);
    GElf_Shdr header;

    if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM || !data)
        return false;
    for (int i = 0; gelf_getsym(data, i, ret_symbol); i++) {
        const char *text = elf_strptr(elf, header.sh_link, ret_symbol->st_name);

        if (text && strcmp(text, name) == 0 && ret_symbol->st_shndx != SHN_UNDEF &&
            GELF_ST_TYPE(ret_symbol->st_info) == STT_OBJECT)
            return true;
    }
    return false;
}

/* Sets where ADDRESS is in the file. Returns how many bytes the file has from there. */
static uint64_t locate(Elf *elf, uint64_t address, uint64_t *ret_offset)
{
    size_t count = 0;
    GElf_Phdr segment;

    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment); i++)
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
            address - segment.p_vaddr < segment.p_filesz) {
            *ret_offset = segment.p_offset + (address - segment.p_vaddr);
            return segment.p_filesz - (address - segment.p_vaddr);
        }
    return 0;
}

static size_t read_value(Elf *elf, int fd, const char *name, void *bytes, size_t count)
{
    Elf_Scn *section = NULL;
    GElf_Sym symbol = {.st_size = 0};
    uint64_t offset = 0, there;
    bool found = false;
    ssize_t got;

    while (!found && (section = elf_nextscn(elf, section)))
        found = find_in(elf, section, name, &symbol);
    if (!found)
        return 0;
    there = locate(elf, symbol.st_value, &offset);
    if (symbol.st_size < there)
        there = symbol.st_size;
    got = pread(fd, bytes, there < count ? there : count, (off_t)offset);
    return got > 0 ? (size_t)got : 0;
}

size_t berth_elf_value(int fd, const char *name, void *bytes, size_t count)
{
    size_t got = 0;
    Elf *elf;

    elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf && elf_kind(elf) == ELF_K_ELF)
        got = read_value(elf, fd, name, bytes, count);
    elf_end(elf);
    return got;
}
