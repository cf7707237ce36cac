/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a file says about itself: its kind, its loader, its names. Decides nothing
 * about MPI or containers. */

#include "elf/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/reader.h"
#include "elf/stored.h"

enum { HEAD_SIZE = 256, SEGMENTS_MAX = 4096, NAME_MAX_SIZE = 4096, NEEDED_MAX = 4096 };

static const struct {
    int code;
    const char *name;
} machines[] = {
    {EM_386, "i686"},        {EM_X86_64, "x86_64"}, {EM_ARM, "armv7l"},
    {EM_AARCH64, "aarch64"}, {EM_S390, "s390x"},    {EM_RISCV, "riscv64"},
};

static const char *machine_of(const GElf_Ehdr *header)
{
    if (header->e_machine == EM_PPC64)
        return header->e_ident[EI_DATA] == ELFDATA2LSB ? "ppc64le" : "ppc64";
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
        if (machines[i].code == header->e_machine)
            return machines[i].name;
    return NULL;
}

const char *berth_elf_machine(const char *name)
{
    static const char *const others[] = {"ppc64le", "ppc64"};

    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
        if (strcmp(machines[i].name, name) == 0)
            return machines[i].name;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(others[i], name) == 0)
            return others[i];
    return NULL;
}

static char *copy_text(const char *text)
{
    return text ? strndup(text, NAME_MAX_SIZE) : NULL;
}

/* The first line of a script: `#! INTERPRETER [ARGUMENT]`. A CR at its end is part of
 * that, as the kernel has it. */
static int read_script(char *line, struct berth_elf *elf, struct berth_err *err)
{
    char *word = line + 2;
    char *end;

    elf->kind = BERTH_ELF_SCRIPT;
    line[strcspn(line, "\n")] = '\0';
    word += strspn(word, " \t");
    if (*word == '\0')
        return 0;
    end = word + strcspn(word, " \t");
    elf->interpreter = strndup(word, (size_t)(end - word));
    return elf->interpreter ? 0 : berth_err_oom(err);
}

static int read_interpreter(struct berth_elf_reader *reader, const GElf_Phdr *segment,
                            struct berth_elf *elf, struct berth_err *err)
{
    char text[NAME_MAX_SIZE];
    size_t size = segment->p_filesz;

    if (size == 0 || size > sizeof(text) ||
        pread(reader->fd, text, size, (off_t)segment->p_offset) != (ssize_t)size ||
        text[size - 1] != '\0')
        return berth_elf_damaged(err, "loader's name");
    elf->interpreter = strdup(text);
    return elf->interpreter ? 0 : berth_err_oom(err);
}

/* The entries of the dynamic section that are not addresses. */
struct names {
    uint64_t soname, rpath, runpath, flags;
    bool has_soname, has_rpath, has_runpath;
    size_t entries;
};

static void read_entry(struct berth_elf_reader *reader, const GElf_Dyn *entry,
                       struct names *names)
{
    const struct {
        int64_t tag;
        uint64_t *place;
    } places[] = {{DT_STRTAB, &reader->strings},
                  {DT_STRSZ, &reader->strings_size},
                  {DT_SYMTAB, &reader->symbols},
                  {DT_HASH, &reader->hash},
                  {DT_GNU_HASH, &reader->gnu_hash},
                  {DT_RELA, &reader->rela},
                  {DT_RELASZ, &reader->rela_size},
                  {DT_RELACOUNT, &reader->rela_relative},
                  {DT_REL, &reader->rel},
                  {DT_RELSZ, &reader->rel_size},
                  {DT_RELCOUNT, &reader->rel_relative},
                  {DT_JMPREL, &reader->plt},
                  {DT_PLTRELSZ, &reader->plt_size},
                  {DT_PLTREL, &reader->plt_type},
                  {DT_VERNEED, &reader->version_needs},
                  {DT_VERNEEDNUM, &reader->version_need_count},
                  {DT_VERDEF, &reader->version_defs},
                  {DT_VERDEFNUM, &reader->version_def_count},
                  {DT_SONAME, &names->soname},
                  {DT_RPATH, &names->rpath},
                  {DT_RUNPATH, &names->runpath},
                  {DT_FLAGS_1, &names->flags}};

    names->has_soname |= entry->d_tag == DT_SONAME;
    names->has_rpath |= entry->d_tag == DT_RPATH;
    names->has_runpath |= entry->d_tag == DT_RUNPATH;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (places[i].tag == entry->d_tag)
            *places[i].place = entry->d_un.d_val;
}

static int copy_name(const struct berth_elf_reader *reader, bool has, uint64_t offset,
                     char **ret_name, struct berth_err *err)
{
    const char *text = has ? berth_elf_string(reader, offset) : NULL;

    if (has && !text)
        return berth_elf_damaged(err, "dynamic section");
    *ret_name = copy_text(text);
    return has && !*ret_name ? berth_err_oom(err) : 0;
}

static int read_names(struct berth_elf_reader *reader, Elf_Data *dynamic,
                      const struct names *names, struct berth_elf *elf,
                      struct berth_err *err)
{
    GElf_Dyn entry;

    reader->text =
        berth_elf_table(reader, reader->strings, reader->strings_size, ELF_T_BYTE);
    if (!reader->text)
        return berth_elf_damaged(err, "string table");
    for (size_t i = 0; i < names->entries; i++) {
        const char *text;

        if (!gelf_getdyn(dynamic, (int)i, &entry) || entry.d_tag != DT_NEEDED)
            continue;
        text = berth_elf_string(reader, entry.d_un.d_val);
        if (!text || elf->needed.count == NEEDED_MAX)
            return berth_elf_damaged(err, "list of libraries");
        berth_strvec_pushf(&elf->needed, "%.*s", NAME_MAX_SIZE, text);
    }
    if (elf->needed.failed)
        return berth_err_oom(err);
    if (copy_name(reader, names->has_soname, names->soname, &elf->soname, err) < 0 ||
        copy_name(reader, names->has_rpath, names->rpath, &elf->rpath, err) < 0 ||
        copy_name(reader, names->has_runpath, names->runpath, &elf->runpath, err) < 0)
        return -1;
    return 0;
}

static int read_dynamic(struct berth_elf_reader *reader, const GElf_Phdr *segment,
                        const struct berth_elf_question *question,
                        struct berth_elf *elf, struct berth_err *err)
{
    struct names names = {0};
    Elf_Data *dynamic = NULL;
    GElf_Dyn entry;

    if (segment->p_filesz > 0 && segment->p_filesz <= BERTH_ELF_TABLE_MAX &&
        segment->p_offset <= reader->size &&
        segment->p_filesz <= reader->size - segment->p_offset)
        dynamic = elf_getdata_rawchunk(reader->elf, (int64_t)segment->p_offset,
                                       segment->p_filesz, ELF_T_DYN);
    if (!dynamic)
        return berth_elf_damaged(err, "dynamic section");
    while (gelf_getdyn(dynamic, (int)names.entries, &entry) && entry.d_tag != DT_NULL) {
        read_entry(reader, &entry, &names);
        names.entries++;
    }
    /* libc.so.6 can be started, and is a library. */
    if (elf->kind != BERTH_ELF_OTHER && (names.flags & DF_1_PIE) == 0 &&
        reader->header.e_type == ET_DYN && (names.has_soname || !elf->interpreter))
        elf->kind = BERTH_ELF_LIBRARY;
    if (names.entries == 0 || reader->strings == 0)
        return 0;
    if (read_names(reader, dynamic, &names, elf, err) < 0 ||
        berth_elf_read_versions(reader, elf, err) < 0)
        return -1;
    return berth_elf_read_symbols(reader, question, elf, err);
}

static void read_header(const struct berth_elf_reader *reader, struct berth_elf *elf)
{
    elf->machine = machine_of(&reader->header);
    elf->bits = gelf_getclass(reader->elf) == ELFCLASS32 ? 32 : 64;
    if (reader->header.e_type == ET_EXEC || reader->header.e_type == ET_DYN)
        elf->kind = BERTH_ELF_STATIC;
    else
        elf->kind = BERTH_ELF_OTHER;
}

/* Reads the loader's name first, since only a program has one. */
static int read_segments(struct berth_elf_reader *reader,
                         const struct berth_elf_question *question,
                         struct berth_elf *elf, struct berth_err *err)
{
    GElf_Phdr segment, dynamic = {0};
    bool has_dynamic = false;

    read_header(reader, elf);
    if (elf->kind == BERTH_ELF_OTHER)
        return 0;
    if (elf_getphdrnum(reader->elf, &reader->segments) < 0 ||
        reader->segments > SEGMENTS_MAX)
        return berth_elf_damaged(err, "list of segments");
    for (size_t i = 0; i < reader->segments; i++) {
        if (!gelf_getphdr(reader->elf, (int)i, &segment))
            return berth_elf_damaged(err, "list of segments");
        if (segment.p_type == PT_DYNAMIC && !has_dynamic) {
            dynamic = segment;
            has_dynamic = true;
        } else if (segment.p_type == PT_INTERP && !elf->interpreter) {
            elf->kind = BERTH_ELF_PROGRAM;
            if (read_interpreter(reader, &segment, elf, err) < 0)
                return -1;
        }
    }
    if (has_dynamic && read_dynamic(reader, &dynamic, question, elf, err) < 0)
        return -1;
    if (berth_elf_read_inner(reader, question, elf, err) < 0)
        return -1;
    return berth_elf_read_texts(reader, question, elf, err);
}

static int read_elf(int fd, uint64_t size, const struct berth_elf_question *question,
                    struct berth_elf *elf, struct berth_err *err)
{
    struct berth_elf_reader reader = {.fd = fd, .size = size};
    int result;

    elf_version(EV_CURRENT);
    /* The file is read, not mapped: if somebody truncates it meanwhile, a mapping would
     * raise SIGBUS. */
    reader.elf = elf_begin(fd, ELF_C_READ, NULL);
    if (!reader.elf || elf_kind(reader.elf) != ELF_K_ELF ||
        !gelf_getehdr(reader.elf, &reader.header))
        result = berth_elf_damaged(err, "header");
    else
        result = read_segments(&reader, question, elf, err);
    elf_end(reader.elf);
    return result;
}

int berth_elf_read(int fd, const struct berth_elf_question *question,
                   struct berth_elf *ret_elf, struct berth_err *err)
{
    char head[HEAD_SIZE + 1];
    struct berth_elf elf = {0};
    struct stat st = {0};
    ssize_t got;
    int result = 0;

    *ret_elf = (struct berth_elf){0};
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
        return 0;
    got = pread(fd, head, HEAD_SIZE, 0);
    if (got < 0)
        return berth_err_set(err, "cannot be read: %s", strerror(errno));
    head[got] = '\0';
    if (got >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
        result = read_elf(fd, (uint64_t)st.st_size, question, &elf, err);
    else if (memcmp(head, "#!", 2) == 0)
        result = read_script(head, &elf, err);
    if (result < 0)
        berth_elf_fini(&elf);
    else
        *ret_elf = elf;
    return result;
}

int berth_elf_read_path(const char *path, const struct berth_elf_question *question,
                        struct berth_elf *ret_elf, struct berth_err *err)
{
    BERTH_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0)
        return berth_err_file(err, path, "read");
    if (berth_elf_read(fd, question, ret_elf, err) < 0)
        return berth_err_at(err, "'%s'", path);
    return 0;
}

static bool no_symbol(const char *name)
{
    (void)name;
    return false;
}

const struct berth_elf_question berth_elf_no_symbols = {.symbol = no_symbol};

static void free_symbols(struct berth_elf_symbols *symbols)
{
    for (size_t i = 0; i < symbols->count && !symbols->is_borrowed; i++)
        free(symbols->items[i].name);
    free(symbols->items);
}

void berth_elf_fini(struct berth_elf *elf)
{
    free(elf->interpreter);
    free(elf->soname);
    free(elf->rpath);
    free(elf->runpath);
    berth_strvec_fini(&elf->needed);
    berth_strvec_fini(&elf->version_defs);
    berth_strvec_fini(&elf->texts);
    berth_strvec_fini(&elf->inner);
    berth_strvec_fini(&elf->version_needs);
    free_symbols(&elf->undefined);
    free_symbols(&elf->defined);
    free_symbols(&elf->copied);
    *elf = (struct berth_elf){0};
}

int berth_elf_compare(const void *a, const void *b)
{
    const struct berth_elf_symbol *one = a;
    const struct berth_elf_symbol *other = b;

    return strcmp(one->name, other->name);
}

const struct berth_elf_symbol *berth_elf_find(const struct berth_elf_symbols *symbols,
                                              const char *name)
{
    const struct berth_elf_symbol wanted = {.name = (char *)name};

    if (symbols->is_sorted)
        return symbols->count ? bsearch(&wanted, symbols->items, symbols->count,
                                        sizeof(wanted), berth_elf_compare)
                              : NULL;
    for (size_t i = 0; i < symbols->count; i++)
        if (strcmp(symbols->items[i].name, name) == 0)
            return &symbols->items[i];
    return NULL;
}
