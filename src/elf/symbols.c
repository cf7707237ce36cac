/* SPDX-License-Identifier: Apache-2.0 */
/* The dynamic symbols. Only section headers state their number, and a file may lack
 * section headers. So the number comes from the hash tables, or, in a file that defines
 * no symbols, from its relocations. */

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "elf/reader.h"

/* The most bytes of a chain that are read; the last chain of every real file is short.
 */
enum { CHAIN_SIZE = 65536 };

static bool word_at(const Elf_Data *data, uint64_t index, uint32_t *ret_word)
{
    if (!data || index >= data->d_size / sizeof(*ret_word))
        return false;
    memcpy(ret_word, (const char *)data->d_buf + index * sizeof(*ret_word),
           sizeof(*ret_word));
    return true;
}

static uint64_t count_by_hash(struct berth_elf_reader *reader)
{
    const Elf_Data *data =
        berth_elf_table(reader, reader->hash, 2 * sizeof(uint32_t), ELF_T_WORD);
    uint32_t count;

    return word_at(data, 1, &count) ? count : 0;
}

/* The number of symbols by the GNU hash table (specified by binutils and glibc alone):
 * the end of the chain that starts at the highest symbol. 0: the table is empty. */
static uint64_t count_by_gnu_hash(struct berth_elf_reader *reader)
{
    uint64_t address = reader->gnu_hash;
    uint64_t wide = gelf_getclass(reader->elf) == ELFCLASS64 ? 8 : 4;
    const Elf_Data *data = berth_elf_table(reader, address, 16, ELF_T_WORD);
    uint32_t buckets, first, blooms, word, last = 0;

    if (!word_at(data, 0, &buckets) || !word_at(data, 1, &first) ||
        !word_at(data, 2, &blooms))
        return 0;
    address += 16 + blooms * wide;
    data = berth_elf_table(reader, address, (uint64_t)buckets * 4, ELF_T_WORD);
    for (uint32_t i = 0; i < buckets && word_at(data, i, &word); i++)
        if (word > last)
            last = word;
    if (last == 0 || last < first)
        return 0;
    address += (uint64_t)buckets * 4 + (uint64_t)(last - first) * 4;
    data = berth_elf_table_upto(reader, address, CHAIN_SIZE, ELF_T_WORD);
    for (uint64_t i = 0; word_at(data, i, &word); i++)
        if (word & 1)
            return last + i + 1;
    return 0;
}

/* The relocation that copies data into a program. */
static const struct {
    int machine;
    uint32_t type;
} copy_types[] = {
    {EM_386, R_386_COPY},         {EM_X86_64, R_X86_64_COPY}, {EM_ARM, R_ARM_COPY},
    {EM_AARCH64, R_AARCH64_COPY}, {EM_PPC64, R_PPC64_COPY},   {EM_S390, R_390_COPY},
    {EM_RISCV, R_RISCV_COPY},
};

static uint32_t copy_type(int machine)
{
    for (size_t i = 0; i < sizeof(copy_types) / sizeof(copy_types[0]); i++)
        if (copy_types[i].machine == machine)
            return copy_types[i].type;
    return UINT32_MAX;
}

/* One table of relocations. */
struct relocations {
    uint64_t address, size, skip;
    Elf_Type type;
};

/* Which symbols the relocations use. */
struct uses {
    uint64_t highest;
    uint64_t *copied;
    size_t count, room;
};

static bool relocation_at(Elf_Data *data, Elf_Type type, int index, uint64_t *ret_info)
{
    bool is_rela = type == ELF_T_RELA;
    GElf_Rela rela;
    GElf_Rel rel;

    if (is_rela ? !gelf_getrela(data, index, &rela) : !gelf_getrel(data, index, &rel))
        return false;
    *ret_info = is_rela ? rela.r_info : rel.r_info;
    return true;
}

static int walk(struct berth_elf_reader *reader, struct relocations table,
                struct uses *uses, struct berth_err *err)
{
    uint64_t each = gelf_fsize(reader->elf, table.type, 1, EV_CURRENT);
    uint32_t copy = copy_type(reader->header.e_machine);
    Elf_Data *data;
    uint64_t info;

    if (table.address == 0 || table.size == 0 || table.skip >= table.size / each)
        return 0;
    data = berth_elf_table(reader, table.address + table.skip * each,
                           table.size - table.skip * each, table.type);
    if (!data)
        return berth_elf_damaged(err, "relocations");
    for (int i = 0; relocation_at(data, table.type, i, &info); i++) {
        uint64_t symbol = GELF_R_SYM(info);

        if (symbol > uses->highest)
            uses->highest = symbol;
        if (GELF_R_TYPE(info) != copy)
            continue;
        if (berth_grow(&uses->copied, uses->count, &uses->room, sizeof(symbol)) < 0)
            return berth_err_oom(err);
        uses->copied[uses->count++] = symbol;
    }
    return 0;
}

static int walk_all(struct berth_elf_reader *reader, struct uses *uses,
                    struct berth_err *err)
{
    const struct relocations tables[] = {
        {reader->rela, reader->rela_size, reader->rela_relative, ELF_T_RELA},
        {reader->rel, reader->rel_size, reader->rel_relative, ELF_T_REL},
        {reader->plt, reader->plt_size, 0,
         reader->plt_type == DT_RELA ? ELF_T_RELA : ELF_T_REL},
    };

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        if (walk(reader, tables[i], uses, err) < 0)
            return -1;
    return 0;
}

static int add(struct berth_elf_symbols *symbols, const char *name,
               const GElf_Sym *symbol, struct berth_err *err)
{
    int type = GELF_ST_TYPE(symbol->st_info);
    struct berth_elf_symbol *item;

    if (berth_grow(&symbols->items, symbols->count, &symbols->room, sizeof(*item)) < 0)
        return berth_err_oom(err);
    item = &symbols->items[symbols->count];
    *item = (struct berth_elf_symbol){
        .name = strdup(name),
        .size = symbol->st_size,
        .data = type == STT_OBJECT || type == STT_COMMON || type == STT_TLS,
        .weak =
            symbol->st_shndx == SHN_UNDEF && GELF_ST_BIND(symbol->st_info) == STB_WEAK,
    };
    if (!item->name)
        return berth_err_oom(err);
    symbols->count++;
    return 0;
}

/* Adds the symbol at INDEX to UNDEFINED or to DEFINED, if QUESTION wants it. */
static int add_at(const struct berth_elf_reader *reader, Elf_Data *data, uint64_t index,
                  const struct berth_elf_question *question,
                  struct berth_elf_symbols *undefined,
                  struct berth_elf_symbols *defined, struct berth_err *err)
{
    const char *name;
    GElf_Sym symbol;

    if (index > INT32_MAX || !gelf_getsym(data, (int)index, &symbol))
        return berth_elf_damaged(err, "table of symbols");
    name = berth_elf_string(reader, symbol.st_name);
    if (!name)
        return berth_elf_damaged(err, "table of symbols");
    if (*name == '\0' || GELF_ST_BIND(symbol.st_info) == STB_LOCAL ||
        (question && question->symbol && !question->symbol(name)))
        return 0;
    return add(symbol.st_shndx == SHN_UNDEF ? undefined : defined, name, &symbol, err);
}

static int add_all(struct berth_elf_reader *reader, uint64_t count,
                   const struct uses *uses, const struct berth_elf_question *question,
                   struct berth_elf *elf, struct berth_err *err)
{
    uint64_t each = gelf_fsize(reader->elf, ELF_T_SYM, 1, EV_CURRENT);
    Elf_Data *data = NULL;

    if (count <= BERTH_ELF_TABLE_MAX / each)
        data = berth_elf_table(reader, reader->symbols, count * each, ELF_T_SYM);
    if (!data)
        return berth_elf_damaged(err, "table of symbols");
    for (uint64_t i = 1; i < count; i++)
        if (add_at(reader, data, i, question, &elf->undefined, &elf->defined, err) < 0)
            return -1;
    for (size_t i = 0; i < uses->count; i++)
        if (add_at(reader, data, uses->copied[i], question, &elf->copied, &elf->copied,
                   err) < 0)
            return -1;
    return 0;
}

static void sort(struct berth_elf_symbols *symbols)
{
    if (symbols->count)
        qsort(symbols->items, symbols->count, sizeof(*symbols->items),
              berth_elf_compare);
    symbols->is_sorted = true;
}

int berth_elf_read_symbols(struct berth_elf_reader *reader,
                           const struct berth_elf_question *question,
                           struct berth_elf *elf, struct berth_err *err)
{
    uint64_t count = count_by_gnu_hash(reader);
    struct uses uses = {0};
    int result = 0;

    if (reader->symbols == 0)
        return 0;
    if (count == 0)
        count = count_by_hash(reader);
    if (count == 0 || elf->kind != BERTH_ELF_LIBRARY)
        result = walk_all(reader, &uses, err);
    if (uses.highest >= count)
        count = uses.highest + 1;
    if (result == 0 && count > 1)
        result = add_all(reader, count, &uses, question, elf, err);
    free(uses.copied);
    sort(&elf->undefined);
    sort(&elf->defined);
    sort(&elf->copied);
    return result;
}

enum { INNER_MAX = 64 };

/* The full symbol table of a program, the only one that has the symbols of static
 * libraries. */
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

        if (name && symbol.st_shndx != SHN_UNDEF && elf->inner.count < INNER_MAX &&
            question->inner(name))
            berth_strvec_push(&elf->inner, name);
    }
    return elf->inner.failed ? berth_err_oom(err) : 0;
}
