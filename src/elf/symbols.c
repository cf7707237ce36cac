/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tables of symbols. */

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "elf/reader.h"

enum { INNER_MAX = 64 };

/* The dynamic symbols while they are read. */
struct table {
    Elf *elf;
    Elf_Data *data;
    size_t index;   /* of its section */
    size_t strings; /* the section with the names */
    const struct berth_elf_question *question;
};

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

static bool is_undefined(const GElf_Sym *symbol)
{
    return symbol->st_shndx == SHN_UNDEF;
}

static int add(struct berth_elf_symbols *symbols, const char *name,
               const GElf_Sym *symbol, struct berth_err *err)
{
    bool is_weak = GELF_ST_BIND(symbol->st_info) == STB_WEAK;
    struct berth_elf_symbol item = {
        .name = strdup(name),
        .size = symbol->st_size,
        .weak = is_weak && is_undefined(symbol),
    };

    if (item.name && berth_append(symbols, &item) == 0)
        return 0;
    free(item.name);
    return berth_err_oom(err);
}

/* Does QUESTION, which may be NULL for all symbols, want the one called NAME? */
static bool wants(const struct berth_elf_question *question, const char *name)
{
    if (!question || !question->symbol)
        return true;
    return question->symbol(name);
}

/* Adds SYMBOL to UNDEFINED or to DEFINED, if the question wants it. */
static int add_wanted(const struct table *table, const GElf_Sym *symbol,
                      struct berth_elf_symbols *undefined,
                      struct berth_elf_symbols *defined, struct berth_err *err)
{
    const char *name = elf_strptr(table->elf, table->strings, symbol->st_name);
    bool is_local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL;

    if (!name)
        return berth_elf_damaged(err, "table of symbols");
    if (*name == '\0' || is_local || !wants(table->question, name))
        return 0;
    if (is_undefined(symbol))
        return add(undefined, name, symbol, err);
    return add(defined, name, symbol, err);
}

static bool relocation_at(Elf_Data *data, bool is_rela, int index, uint64_t *ret_info)
{
    GElf_Rela rela;
    GElf_Rel rel;

    if (is_rela) {
        if (!gelf_getrela(data, index, &rela))
            return false;
        *ret_info = rela.r_info;
        return true;
    }
    if (!gelf_getrel(data, index, &rel))
        return false;
    *ret_info = rel.r_info;
    return true;
}

/* Adds the symbols that the relocations in DATA, of TYPE, copy by relocations COPY. */
static int add_section(const struct table *table, Elf_Data *data, uint32_t type,
                       uint32_t copy, struct berth_elf_symbols *copied,
                       struct berth_err *err)
{
    GElf_Sym symbol;
    uint64_t info;

    for (int i = 0; relocation_at(data, type == SHT_RELA, i, &info); i++) {
        if (GELF_R_TYPE(info) != copy)
            continue;
        if (!gelf_getsym(table->data, (int)GELF_R_SYM(info), &symbol))
            return berth_elf_damaged(err, "relocations");
        if (add_wanted(table, &symbol, copied, copied, err) < 0)
            return -1;
    }
    return 0;
}

/* Adds the symbols whose data a program gets a copy of, by its relocations of TYPE. */
static int add_copied(const struct table *table, const struct berth_elf_reader *reader,
                      uint32_t type, struct berth_elf_symbols *copied,
                      struct berth_err *err)
{
    uint32_t copy = copy_type(reader->header.e_machine);
    Elf_Scn *section = NULL;

    for (;;) {
        GElf_Shdr header;
        Elf_Data *data = berth_elf_next(table->elf, &section, type, &header);

        if (!section)
            return 0;
        if (!data)
            return berth_elf_damaged(err, "relocations");
        if (header.sh_link != table->index)
            continue;
        if (add_section(table, data, type, copy, copied, err) < 0)
            return -1;
    }
}

/* The same for relocations of both types; only programs copy. */
static int add_all_copied(const struct table *table,
                          const struct berth_elf_reader *reader, struct berth_elf *elf,
                          struct berth_err *err)
{
    if (elf->kind == BERTH_ELF_LIBRARY)
        return 0;
    if (add_copied(table, reader, SHT_RELA, &elf->copied, err) < 0)
        return -1;
    return add_copied(table, reader, SHT_REL, &elf->copied, err);
}

static int compare(const void *a, const void *b)
{
    const struct berth_elf_symbol *one = a;
    const struct berth_elf_symbol *other = b;

    return strcmp(one->name, other->name);
}

const struct berth_elf_symbol *berth_elf_find(const struct berth_elf_symbols *symbols,
                                              const char *name)
{
    const struct berth_elf_symbol wanted = {.name = (char *)name};

    if (symbols->count == 0)
        return NULL;
    if (symbols->is_sorted)
        return bsearch(&wanted, symbols->items, symbols->count, sizeof(wanted),
                       compare);
    for (size_t i = 0; i < symbols->count; i++)
        if (strcmp(symbols->items[i].name, name) == 0)
            return &symbols->items[i];
    return NULL;
}

static void sort(struct berth_elf_symbols *symbols)
{
    if (symbols->count)
        qsort(symbols->items, symbols->count, sizeof(*symbols->items), compare);
    symbols->is_sorted = true;
}

int berth_elf_read_symbols(struct berth_elf_reader *reader,
                           const struct berth_elf_question *question,
                           struct berth_elf *elf, struct berth_err *err)
{
    struct table table = {.elf = reader->elf, .question = question};
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    GElf_Sym symbol;

    table.data = berth_elf_next(reader->elf, &section, SHT_DYNSYM, &header);
    if (!section)
        return 0;
    if (!table.data)
        return berth_elf_damaged(err, "table of symbols");
    table.index = elf_ndxscn(section);
    table.strings = header.sh_link;
    for (int i = 1; gelf_getsym(table.data, i, &symbol); i++)
        if (add_wanted(&table, &symbol, &elf->undefined, &elf->defined, err) < 0)
            return -1;
    if (add_all_copied(&table, reader, elf, err) < 0)
        return -1;
    sort(&elf->undefined);
    sort(&elf->defined);
    sort(&elf->copied);
    return 0;
}

/* By the full symbol table, the only one that has the symbols of static libraries. A
 * damaged one is ignored: the loader does not read it either. */
int berth_elf_read_inner(struct berth_elf_reader *reader,
                         const struct berth_elf_question *question,
                         struct berth_elf *elf, struct berth_err *err)
{
    bool is_program = elf->kind == BERTH_ELF_PROGRAM || elf->kind == BERTH_ELF_STATIC;
    Elf_Scn *section = NULL;
    Elf_Data *data;
    GElf_Shdr header;
    GElf_Sym symbol;

    if (!is_program || !question || !question->inner)
        return 0;
    data = berth_elf_next(reader->elf, &section, SHT_SYMTAB, &header);
    if (!data)
        return 0;
    for (int i = 1; gelf_getsym(data, i, &symbol); i++) {
        const char *name = elf_strptr(reader->elf, header.sh_link, symbol.st_name);

        if (elf->inner.count >= INNER_MAX)
            break;
        if (!name || is_undefined(&symbol))
            continue;
        if (question->inner(name))
            berth_strvec_push(&elf->inner, name);
    }
    return berth_err_oom_if(elf->inner.failed, err);
}

/* Copies up to COUNT of the bytes that SYMBOL, which is defined, has in the file. */
static size_t copy_value(Elf *elf, const GElf_Sym *symbol, void *bytes, size_t count)
{
    GElf_Shdr header;
    Elf_Data *data = berth_elf_data(elf_getscn(elf, symbol->st_shndx), &header);
    uint64_t at;

    if (!data || !data->d_buf)
        return 0;
    at = symbol->st_value - header.sh_addr;
    if (symbol->st_value < header.sh_addr || at > data->d_size)
        return 0;
    if (count > symbol->st_size)
        count = symbol->st_size;
    if (count > data->d_size - at)
        count = data->d_size - at;
    memcpy(bytes, (const char *)data->d_buf + at, count);
    return count;
}

/* Finds the dynamic symbol NAME if it is data that ELF defines. */
static bool find_data(Elf *elf, const char *name, GElf_Sym *ret_symbol)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header;
    Elf_Data *data = berth_elf_next(elf, &section, SHT_DYNSYM, &header);

    if (!data)
        return false;
    for (int i = 1; gelf_getsym(data, i, ret_symbol); i++) {
        const char *text = elf_strptr(elf, header.sh_link, ret_symbol->st_name);

        if (!text || strcmp(text, name) != 0)
            continue;
        if (!is_undefined(ret_symbol) &&
            GELF_ST_TYPE(ret_symbol->st_info) == STT_OBJECT)
            return true;
    }
    return false;
}

size_t berth_elf_value(int fd, const char *name, void *bytes, size_t count)
{
    GElf_Sym symbol;
    size_t got = 0;
    Elf *elf;

    elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf_kind(elf) == ELF_K_ELF && find_data(elf, name, &symbol))
        got = copy_value(elf, &symbol, bytes, count);
    elf_end(elf);
    return got;
}
