/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a constant of a library without loading it. */

#include "elf/reader.h"

#include <string.h>
#include <sys/stat.h>

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

static size_t read_value(struct berth_elf_reader *reader, const char *name, void *bytes,
                         size_t count)
{
    Elf_Scn *section = NULL;
    Elf_Data *data = NULL;
    GElf_Sym symbol;

    while (!data && (section = elf_nextscn(reader->elf, section)))
        if (find_in(reader->elf, section, name, &symbol))
            data = berth_elf_table_upto(reader, symbol.st_value, symbol.st_size,
                                        ELF_T_BYTE);
    if (!data)
        return 0;
    if (count > data->d_size)
        count = data->d_size;
    memcpy(bytes, data->d_buf, count);
    return count;
}

size_t berth_elf_value(int fd, const char *name, void *bytes, size_t count)
{
    struct berth_elf_reader reader = {.fd = fd};
    struct stat st;
    size_t got = 0;

    if (fstat(fd, &st) < 0)
        return 0;
    reader.size = (uint64_t)st.st_size;
    elf_version(EV_CURRENT);
    reader.elf = elf_begin(fd, ELF_C_READ, NULL);
    if (reader.elf && elf_kind(reader.elf) == ELF_K_ELF &&
        elf_getphdrnum(reader.elf, &reader.segments) == 0)
        got = read_value(&reader, name, bytes, count);
    elf_end(reader.elf);
    return got;
}
