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
    bool is_little = header->e_ident[EI_DATA] == ELFDATA2LSB;

    if (header->e_machine == EM_PPC64)
        return is_little ? "ppc64le" : "ppc64";
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
        if (machines[i].code == header->e_machine)
            return machines[i].name;
    return NULL;
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
    return berth_err_oom_if(!elf->interpreter, err);
}

static int read_interpreter(struct berth_elf_reader *reader, const GElf_Phdr *segment,
                            struct berth_elf *elf, struct berth_err *err)
{
    static const char what[] = "loader's name";
    char text[NAME_MAX_SIZE];
    size_t size = segment->p_filesz;
    ssize_t got;

    if (size == 0 || size > sizeof(text))
        return berth_elf_damaged(err, what);
    got = pread(reader->fd, text, size, (off_t)segment->p_offset);
    if (got != (ssize_t)size || text[size - 1] != '\0')
        return berth_elf_damaged(err, what);
    elf->interpreter = strdup(text);
    return berth_err_oom_if(!elf->interpreter, err);
}

/* The member of ELF for the one text that entries of TAG name; NULL: there is none. */
static char **text_for(struct berth_elf *elf, int64_t tag)
{
    switch (tag) {
    case DT_SONAME:
        return &elf->soname;
    case DT_RPATH:
        return &elf->rpath;
    case DT_RUNPATH:
        return &elf->runpath;
    default:
        return NULL;
    }
}

/* Reads what ENTRY of the dynamic section names, if that is a text. STRINGS is the
 * section that has the texts. */
static int read_name(const struct berth_elf_reader *reader, const GElf_Dyn *entry,
                     size_t strings, struct berth_elf *elf, struct berth_err *err)
{
    char **place = text_for(elf, entry->d_tag);
    const char *text;

    if (!place && entry->d_tag != DT_NEEDED)
        return 0;
    text = elf_strptr(reader->elf, strings, entry->d_un.d_val);
    if (!text || elf->needed.count == NEEDED_MAX)
        return berth_elf_damaged(err, "dynamic section");
    if (!place) {
        berth_strvec_pushf(&elf->needed, "%.*s", NAME_MAX_SIZE, text);
        return berth_err_oom_if(elf->needed.failed, err);
    }
    free(*place);
    *place = strndup(text, NAME_MAX_SIZE);
    return berth_err_oom_if(!*place, err);
}

/* Some tools remove section headers (sstrip, strip --strip-section-headers), and the
 * loader needs none. Of such a file only its kind and its loader are told. */
static bool is_bare(const struct berth_elf_reader *reader)
{
    return reader->header.e_shoff == 0;
}

/* Returns the dynamic section, which SEGMENT is, and as *RET_STRINGS the section that
 * has its texts; NULL: it is damaged. */
static Elf_Data *find_dynamic(const struct berth_elf_reader *reader,
                              const GElf_Phdr *segment, size_t *ret_strings)
{
    Elf_Scn *section = NULL;
    GElf_Shdr header = {0};
    Elf_Data *data;

    if (is_bare(reader)) {
        if (segment->p_filesz > BERTH_ELF_SECTION_MAX)
            return NULL;
        return elf_getdata_rawchunk(reader->elf, (int64_t)segment->p_offset,
                                    segment->p_filesz, ELF_T_DYN);
    }
    data = berth_elf_next(reader->elf, &section, SHT_DYNAMIC, &header);
    *ret_strings = header.sh_link;
    return data;
}

/* Is the file, which has a dynamic section with FLAGS (DT_FLAGS_1), a library? One that
 * can be started, as libc.so.6 can, has a SONAME too. */
static bool is_library(const struct berth_elf_reader *reader,
                       const struct berth_elf *elf, uint64_t flags)
{
    if (reader->header.e_type != ET_DYN || (flags & DF_1_PIE))
        return false;
    return elf->soname || !elf->interpreter;
}

static int read_dynamic(struct berth_elf_reader *reader, const GElf_Phdr *segment,
                        const struct berth_elf_question *question,
                        struct berth_elf *elf, struct berth_err *err)
{
    size_t strings = 0;
    Elf_Data *data = find_dynamic(reader, segment, &strings);
    uint64_t flags = 0;
    GElf_Dyn entry;

    if (!data)
        return berth_elf_damaged(err, "dynamic section");
    for (int i = 0; gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
        if (!is_bare(reader) && read_name(reader, &entry, strings, elf, err) < 0)
            return -1;
        if (entry.d_tag == DT_FLAGS_1)
            flags = entry.d_un.d_val;
    }
    if (is_library(reader, elf, flags))
        elf->kind = BERTH_ELF_LIBRARY;
    if (berth_elf_read_versions(reader, elf, err) < 0)
        return -1;
    return berth_elf_read_symbols(reader, question, elf, err);
}

static int read_header(const struct berth_elf_reader *reader, struct berth_elf *elf,
                       struct berth_err *err)
{
    const char *machine = machine_of(&reader->header);

    elf->bits = gelf_getclass(reader->elf) == ELFCLASS32 ? 32 : 64;
    if (reader->header.e_type == ET_EXEC || reader->header.e_type == ET_DYN)
        elf->kind = BERTH_ELF_STATIC;
    else
        elf->kind = BERTH_ELF_OTHER;
    if (!machine)
        return 0;
    elf->machine = strdup(machine);
    return berth_err_oom_if(!elf->machine, err);
}

/* Reads the loader's name, which only a program has, and finds the dynamic section:
 * *RET_DYNAMIC, whose type is PT_NULL if there is none. */
static int read_segments(struct berth_elf_reader *reader, struct berth_elf *elf,
                         GElf_Phdr *ret_dynamic, struct berth_err *err)
{
    static const char what[] = "list of segments";
    GElf_Phdr segment;
    size_t count;

    *ret_dynamic = (GElf_Phdr){.p_type = PT_NULL};
    if (elf_getphdrnum(reader->elf, &count) < 0 || count > SEGMENTS_MAX)
        return berth_elf_damaged(err, what);
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(reader->elf, (int)i, &segment))
            return berth_elf_damaged(err, what);
        if (segment.p_type == PT_DYNAMIC)
            *ret_dynamic = segment;
        if (segment.p_type != PT_INTERP || elf->interpreter)
            continue;
        elf->kind = BERTH_ELF_PROGRAM;
        if (read_interpreter(reader, &segment, elf, err) < 0)
            return -1;
    }
    return 0;
}

/* Reads all facts. Whether the file has a loader is read first: the kind depends on it,
 * and what is read of symbols and texts depends on the kind. */
static int read_facts(struct berth_elf_reader *reader,
                      const struct berth_elf_question *question, struct berth_elf *elf,
                      struct berth_err *err)
{
    GElf_Phdr dynamic;

    if (read_header(reader, elf, err) < 0)
        return -1;
    if (elf->kind == BERTH_ELF_OTHER)
        return 0;
    if (read_segments(reader, elf, &dynamic, err) < 0)
        return -1;
    if (dynamic.p_type == PT_DYNAMIC &&
        read_dynamic(reader, &dynamic, question, elf, err) < 0)
        return -1;
    if (berth_elf_read_inner(reader, question, elf, err) < 0)
        return -1;
    return berth_elf_read_texts(reader, question, elf, err);
}

static bool has_header(struct berth_elf_reader *reader)
{
    if (!reader->elf || elf_kind(reader->elf) != ELF_K_ELF)
        return false;
    return gelf_getehdr(reader->elf, &reader->header);
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
    if (has_header(&reader))
        result = read_facts(&reader, question, elf, err);
    else
        result = berth_elf_damaged(err, "header");
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
    if (!symbols->is_borrowed)
        for (size_t i = 0; i < symbols->count; i++)
            free(symbols->items[i].name);
    free(symbols->items);
}

void berth_elf_fini(struct berth_elf *elf)
{
    free(elf->machine);
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
