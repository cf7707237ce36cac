/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the full symbol table of a program, the only one that has the symbols of static
 * libraries. */

#include "elf/reader.h"

enum { NAMES_MAX = 64 };

static Elf_Scn *find_table(Elf *elf, GElf_Shdr *ret_header)
{
    Elf_Scn *section = NULL;

    while ((section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, ret_header) && ret_header->sh_type == SHT_SYMTAB)
            return section;
    return NULL;
}

/* A damaged table is ignored: the loader does not read it either. */
int berth_elf_read_inner(struct berth_elf_reader *reader,
                         const struct berth_elf_question *question,
                         struct berth_elf *elf, struct berth_err *err)
{
    bool is_program = elf->kind == BERTH_ELF_PROGRAM || elf->kind == BERTH_ELF_STATIC;
    GElf_Shdr header;
    Elf_Scn *table = NULL;
    Elf_Data *data;
    GElf_Sym symbol;

    if (is_program && question && question->inner)
        table = find_table(reader->elf, &header);
    data = table && header.sh_size <= BERTH_ELF_TABLE_MAX ? elf_getdata(table, NULL)
                                                          : NULL;
    for (int i = 1; data && gelf_getsym(data, i, &symbol); i++) {
        const char *name = elf_strptr(reader->elf, header.sh_link, symbol.st_name);

        if (name && symbol.st_shndx != SHN_UNDEF && elf->inner.count < NAMES_MAX &&
            question->inner(name))
            berth_strvec_push(&elf->inner, name);
    }
    return elf->inner.failed ? berth_err_oom(err) : 0;
}
