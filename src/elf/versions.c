/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the symbol versions that a file needs of its libraries, and those it defines.
 */

#include "elf/reader.h"

enum { VERSIONS_MAX = 65536, VERSIONS_SIZE = 1 << 17 };

/* Reads the versions that the file needs of one library, whose list starts at AT, and
 * whose names are in the section STRINGS. */
static int read_library(Elf *file, Elf_Data *data, size_t strings,
                        const GElf_Verneed *library, uint64_t at, struct berth_elf *elf,
                        struct berth_err *err)
{
    const char *name = elf_strptr(file, strings, library->vn_file);
    GElf_Vernaux aux;

    for (int i = 0; i < library->vn_cnt; i++) {
        const char *version;

        if (at > VERSIONS_SIZE || !gelf_getvernaux(data, (int)at, &aux))
            return berth_elf_damaged(err, "table of versions");
        version = elf_strptr(file, strings, aux.vna_name);
        if (!name || !version || elf->version_needs.count == 2 * VERSIONS_MAX)
            return berth_elf_damaged(err, "table of versions");
        if (!(aux.vna_flags & VER_FLG_WEAK))
            berth_strvec_push_pair(&elf->version_needs, name, version);
        if (aux.vna_next == 0)
            break;
        at += aux.vna_next;
    }
    return berth_err_oom_if(elf->version_needs.failed, err);
}

static int read_needs(Elf *file, struct berth_elf *elf, struct berth_err *err)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    Elf_Data *data = berth_elf_next(file, &section, SHT_GNU_verneed, &header);
    GElf_Verneed library;
    uint64_t at = 0;

    if (!section)
        return 0;
    if (!data)
        return berth_elf_damaged(err, "table of versions");
    for (uint64_t i = 0; i < header.sh_info; i++) {
        if (at > VERSIONS_SIZE || !gelf_getverneed(data, (int)at, &library))
            return berth_elf_damaged(err, "table of versions");
        if (read_library(file, data, header.sh_link, &library, at + library.vn_aux, elf,
                         err) < 0)
            return -1;
        if (library.vn_next == 0)
            break;
        at += library.vn_next;
    }
    return 0;
}

/* Reads the entry at AT, *RET_DEF, and what it says of its name, *RET_AUX. */
static bool read_def(Elf_Data *data, uint64_t at, GElf_Verdef *ret_def,
                     GElf_Verdaux *ret_aux)
{
    if (at > VERSIONS_SIZE || !gelf_getverdef(data, (int)at, ret_def))
        return false;
    if (ret_def->vd_aux > VERSIONS_SIZE)
        return false;
    return gelf_getverdaux(data, (int)(at + ret_def->vd_aux), ret_aux);
}

static int read_defs(Elf *file, struct berth_elf *elf, struct berth_err *err)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    Elf_Data *data = berth_elf_next(file, &section, SHT_GNU_verdef, &header);
    GElf_Verdef def;
    GElf_Verdaux aux;
    uint64_t at = 0;

    if (!section)
        return 0;
    if (!data)
        return berth_elf_damaged(err, "table of versions");
    for (uint64_t i = 0; i < header.sh_info; i++) {
        const char *name;

        if (!read_def(data, at, &def, &aux))
            return berth_elf_damaged(err, "table of versions");
        name = elf_strptr(file, header.sh_link, aux.vda_name);
        if (!name || elf->version_defs.count == VERSIONS_MAX)
            return berth_elf_damaged(err, "table of versions");
        if (!(def.vd_flags & VER_FLG_BASE))
            berth_strvec_push(&elf->version_defs, name);
        if (def.vd_next == 0)
            break;
        at += def.vd_next;
    }
    return berth_err_oom_if(elf->version_defs.failed, err);
}

int berth_elf_read_versions(struct berth_elf_reader *reader, struct berth_elf *elf,
                            struct berth_err *err)
{
    if (read_needs(reader->elf, elf, err) < 0)
        return -1;
    return read_defs(reader->elf, elf, err);
}
