/* SPDX-License-Identifier: Apache-2.0 */
/* Sections of an ELF file, read within bounds. */

#include "elf/reader.h"

int berth_elf_damaged(struct berth_err *err, const char *what)
{
    return berth_err_set(err, "a damaged ELF file (its %s); install or build it again",
                         what);
}

Elf_Data *berth_elf_data(Elf_Scn *section, GElf_Shdr *ret_header)
{
    if (!gelf_getshdr(section, ret_header))
        return NULL;
    if (ret_header->sh_size > BERTH_ELF_SECTION_MAX)
        return NULL;
    return elf_getdata(section, NULL);
}

/* May the section that HEADER links to be read as a whole, as elf_strptr() does? */
static bool is_link_small(Elf *elf, const GElf_Shdr *header)
{
    GElf_Shdr link;

    return gelf_getshdr(elf_getscn(elf, header->sh_link), &link) &&
           link.sh_size <= BERTH_ELF_SECTION_MAX;
}

Elf_Data *berth_elf_next(Elf *elf, Elf_Scn **section, uint32_t type,
                         GElf_Shdr *ret_header)
{
    for (;;) {
        *section = elf_nextscn(elf, *section);
        if (!*section)
            return NULL;
        if (!gelf_getshdr(*section, ret_header) || ret_header->sh_type != type)
            continue;
        if (!is_link_small(elf, ret_header))
            return NULL;
        return berth_elf_data(*section, ret_header);
    }
}
