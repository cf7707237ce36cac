/* SPDX-License-Identifier: Apache-2.0 */
/* What files say of themselves. Libraries and programs are compiled here, and damaged
 * here. */

#include "elf/facts.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

/* Programs are linked with it, so that they say the same on every machine. */
#define LOADER "/lib/loader.so"
#define LOADED "-Wl,--dynamic-linker=" LOADER ",--allow-shlib-undefined "

static const char library[] =
    "int my_data[10];\n"
    "long my_other = 7;\n"
    "extern int foreign_data;\n"
    "extern void maybe(void) __attribute__((weak));\n"
    "void foreign(void);\n"
    "const char *my_text(void) { return \"vendor one 1.2\"; }\n"
    "int my_function(void) { foreign(); if (maybe) maybe(); return foreign_data; }\n";

static const char program[] = "extern int my_data[10]; extern long my_other;\n"
                              "int my_function(void);\n"
                              "void _start(void)\n"
                              "{ my_data[0] = my_function() + (int)my_other; }\n";

static const char caller[] =
    "int my_function(void); void _start(void) { my_function(); }\n";

static const char versions[] = "ONE_1 { global: my_data; my_text; };\n"
                               "ONE_2 { global: my_function; my_other; } ONE_1;\n";

/* Tests run in the directory. */
static void setup(void)
{
    ck_assert_int_eq(chdir(unit_dir), 0);
    unit_write("map", versions, strlen(versions));
    unit_compile(unit_dir, library,
                 "-shared -fPIC -Wl,-soname,libone.so.3 -o libone.so");
    unit_compile(unit_dir, library,
                 "-shared -fPIC -Wl,-soname,libver.so.1 -Wl,--version-script=map "
                 "-o libver.so");
    unit_compile(unit_dir, program, LOADED "-fno-pie -no-pie -L. -l:libver.so -o user");
}

/* Open a copy of NAME, to be damaged. */
static int open_copy(const char *name)
{
    unit_run("cp %s copy", name);
    return open("copy", O_RDWR | O_CLOEXEC);
}

static bool starts_with_my(const char *name)
{
    return strncmp(name, "my_", 3) == 0;
}

static bool tells_vendor(const char *text)
{
    return strstr(text, "vendor") != NULL;
}

static const struct berth_elf_question ours = {.symbol = starts_with_my,
                                               .text = tells_vendor};

static struct berth_elf read_path(const char *path,
                                  const struct berth_elf_question *question)
{
    BERTH_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct berth_err err = {0};
    struct berth_elf elf;

    ck_assert_msg(berth_elf_read(fd, question, &elf, &err) == 0, "%s: %s", path,
                  err.text);
    return elf;
}

static void add_symbols(struct berth_strvec *lines, const char *title,
                        const struct berth_elf_symbols *symbols)
{
    for (size_t i = 0; i < symbols->count; i++)
        berth_strvec_pushf(lines, "%s %s%s", title, symbols->items[i].name,
                           symbols->items[i].weak ? " weak" : "");
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Everything but addresses, in an order of its own. */
static char *tell(const struct berth_elf *elf)
{
    BERTH_STRVEC struct berth_strvec lines = {0};

    berth_strvec_pushf(&lines, "kind %d", elf->kind);
    berth_strvec_pushf(&lines, "soname %s", elf->soname ? elf->soname : "-");
    berth_strvec_pushf(&lines, "loader %s", elf->interpreter ? elf->interpreter : "-");
    berth_strvec_pushf(&lines, "rpath %s", elf->rpath ? elf->rpath : "-");
    berth_strvec_pushf(&lines, "runpath %s", elf->runpath ? elf->runpath : "-");
    for (size_t i = 0; i < elf->needed.count; i++)
        berth_strvec_pushf(&lines, "needed %s", elf->needed.items[i]);
    for (size_t i = 0; i < elf->version_defs.count; i++)
        berth_strvec_pushf(&lines, "defines %s", elf->version_defs.items[i]);
    for (size_t i = 0; i < elf->version_needs.count; i += 2)
        berth_strvec_pushf(&lines, "wants %s of %s", elf->version_needs.items[i + 1],
                           elf->version_needs.items[i]);
    for (size_t i = 0; i < elf->texts.count; i++)
        berth_strvec_pushf(&lines, "text %s", elf->texts.items[i]);
    add_symbols(&lines, "undefined", &elf->undefined);
    add_symbols(&lines, "defined", &elf->defined);
    add_symbols(&lines, "copied", &elf->copied);
    qsort(lines.items, lines.count, sizeof(*lines.items), compare);
    return unit_lines(&lines);
}

static void assert_tells(const char *name, const struct berth_elf_question *question,
                         const char *expected)
{
    struct berth_elf elf = read_path(name, question);
    BERTH_FREE char *lines = tell(&elf);

    ck_assert_str_eq(lines, expected);
    berth_elf_fini(&elf);
}

#define LIBRARY_LINES                                                                  \
    "defined my_data\n"                                                                \
    "defined my_function\n"                                                            \
    "defined my_other\n"                                                               \
    "defined my_text\n"                                                                \
    "kind 4\n"                                                                         \
    "loader -\n"                                                                       \
    "rpath -\n"                                                                        \
    "runpath -\n"                                                                      \
    "soname libone.so.3\n"

TEST(a_library_tells_its_names_and_symbols)
{
    assert_tells("libone.so", &ours, LIBRARY_LINES "text vendor one 1.2\n");
    assert_tells("libone.so", NULL,
                 LIBRARY_LINES "undefined foreign\n"
                               "undefined foreign_data\n"
                               "undefined maybe weak\n");
}

TEST(versions_are_told)
{
    assert_tells("libver.so", &ours,
                 "defined my_data\n"
                 "defined my_function\n"
                 "defined my_other\n"
                 "defined my_text\n"
                 "defines ONE_1\n"
                 "defines ONE_2\n"
                 "kind 4\n"
                 "loader -\n"
                 "rpath -\n"
                 "runpath -\n"
                 "soname libver.so.1\n"
                 "text vendor one 1.2\n");
    assert_tells("user", &ours,
                 "copied my_data\n"
                 "copied my_other\n"
                 "defined my_data\n"
                 "defined my_other\n"
                 "kind 3\n"
                 "loader " LOADER "\n"
                 "needed libver.so.1\n"
                 "rpath -\n"
                 "runpath -\n"
                 "soname -\n"
                 "undefined my_function\n"
                 "wants ONE_1 of libver.so.1\n"
                 "wants ONE_2 of libver.so.1\n");
}

TEST(copied_data_has_its_size)
{
    struct berth_elf elf = read_path("user", &ours);
    const struct berth_elf_symbol *symbol = berth_elf_find(&elf.copied, "my_data");

    ck_assert_ptr_nonnull(symbol);
    ck_assert_uint_eq(symbol->size, 10 * sizeof(int));
    ck_assert_ptr_null(berth_elf_find(&elf.copied, "my_function"));
    berth_elf_fini(&elf);
}

static const struct {
    const char *flags;
    const char *lines;
} programs[] = {
    {"-fno-pie -no-pie", "rpath -\nrunpath -\n"},
    {"-fpie -pie -fno-plt -Wl,-z,now", "rpath -\nrunpath -\n"},
    {"-fpie -pie -Wl,--disable-new-dtags,-rpath,/opt/a:/opt/b",
     "rpath /opt/a:/opt/b\nrunpath -\n"},
    {"-fpie -pie -Wl,--enable-new-dtags,-rpath,'$ORIGIN/x'",
     "rpath -\nrunpath $ORIGIN/x\n"},
};

TEST_ROWS(a_program_tells_what_it_misses, programs)
{
    BERTH_FREE char *expected = NULL;

    unit_compile(unit_dir, caller, LOADED "%s -L. -l:libone.so -o caller",
                 programs[_i].flags);
    expected = unit_format("kind 3\nloader " LOADER "\nneeded libone.so.3\n%ssoname "
                           "-\nundefined my_function\n",
                           programs[_i].lines);
    assert_tells("caller", &ours, expected);
}

/* More than are kept of what is not a mark. */
static const char wordy[] =
    "#define TEN(x) x \"0\", x \"1\", x \"2\", x \"3\", x \"4\", x \"5\", x \"6\", "
    "x \"7\", x \"8\", x \"9\"\n"
    "#define HUNDRED(x) TEN(x \"0\"), TEN(x \"1\"), TEN(x \"2\"), TEN(x \"3\"), "
    "TEN(x \"4\"), TEN(x \"5\"), TEN(x \"6\"), TEN(x \"7\"), TEN(x \"8\"), TEN(x "
    "\"9\")\n"
    "const char *const words[] = {HUNDRED(\"vendor a\"), HUNDRED(\"vendor b\"), "
    "HUNDRED(\"vendor c\"), HUNDRED(\"vendor d\"), HUNDRED(\"vendor e\"), "
    "HUNDRED(\"vendor f\"), HUNDRED(\"vendor g\"), HUNDRED(\"vendor h\"), "
    "HUNDRED(\"vendor i\"), HUNDRED(\"vendor j\"), HUNDRED(\"vendor k\"), "
    "\"a mark\"};\n"
    "static int my_own(void) { return words[0] != 0; }\n"
    "int other(void) { return 1; }\n"
    "void _start(void) { my_own(); }\n";

static bool is_a_mark(const char *text)
{
    return strcmp(text, "a mark") == 0;
}

TEST_TIMES(a_program_tells_its_texts_and_its_own_symbols, 3)
{
    static const struct berth_elf_question question = {
        .text = tells_vendor, .mark = is_a_mark, .inner = starts_with_my};
    static const struct {
        const char *flags;
        size_t inner;
    } rows[] = {{"-O0", 1}, {"-O0 -static", 1}, {"-O0 -s", 0}};
    struct berth_elf elf;

    unit_compile(unit_dir, wordy, "%s -o wordy", rows[_i].flags);
    elf = read_path("wordy", &question);
    ck_assert_uint_eq(elf.texts.count, 1024 + 1);
    ck_assert(berth_strvec_has(&elf.texts, "a mark"));
    ck_assert_uint_eq(elf.inner.count, rows[_i].inner);
    berth_elf_fini(&elf);
}

static const struct {
    const char *flags;
    enum berth_elf_kind kind;
} kinds[] = {
    {"-static -fno-pie -no-pie", BERTH_ELF_STATIC},
    {"-static-pie -fpie", BERTH_ELF_STATIC},
    {"-pie -fpie", BERTH_ELF_PROGRAM},
    {LOADED "-fno-pie -no-pie -Wl,--no-as-needed -L. -l:libone.so", BERTH_ELF_PROGRAM},
    {"-shared -fPIC", BERTH_ELF_LIBRARY},
    {"-r", BERTH_ELF_OTHER},
};

TEST_ROWS(kinds_are_told_apart, kinds)
{
    struct berth_elf elf;

    unit_compile(unit_dir, "void _start(void) { }\n", "%s -o thing", kinds[_i].flags);
    elf = read_path("thing", NULL);
    ck_assert_int_eq(elf.kind, kinds[_i].kind);
    ck_assert_int_eq(elf.bits, sizeof(void *) * 8);
    berth_elf_fini(&elf);
}

/* The C library can be started, and is a library. */
TEST(a_library_that_can_be_started_is_a_library)
{
    unit_compile(
        unit_dir,
        "const char loader[] __attribute__((section(\".interp\"))) = \"/ld\";\n"
        "void _start(void) { }\n",
        "-shared -fPIC -Wl,-soname,libc.so.6,-e,_start -o libc.so");
    assert_tells("libc.so", &ours,
                 "kind 4\nloader /ld\nrpath -\nrunpath -\nsoname libc.so.6\n");
}

/* The loader needs no section headers. */
static void remove_headers(void)
{
    BERTH_CLOSE int fd = open("bare", O_RDWR | O_CLOEXEC);
    ElfW(Ehdr) header;

    ck_assert_int_eq(pread(fd, &header, sizeof(header), 0), sizeof(header));
    header.e_shoff = 0;
    header.e_shnum = 0;
    header.e_shstrndx = SHN_UNDEF;
    ck_assert_int_eq(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
}

TEST(a_file_without_section_headers_tells_its_kind)
{
    static const struct {
        const char *flags;
        enum berth_elf_kind kind;
        const char *loader;
    } rows[] = {
        {"-shared -fPIC -Wl,-soname,libbare.so", BERTH_ELF_LIBRARY, NULL},
        {LOADED "-fno-pie -no-pie -Wl,--no-as-needed -L. -l:libone.so",
         BERTH_ELF_PROGRAM, LOADER},
        {LOADED "-fpie -pie -L. -l:libone.so", BERTH_ELF_PROGRAM, LOADER},
        {"-static-pie -fpie", BERTH_ELF_STATIC, NULL},
    };

    for (int i = 0; i < COUNT(rows); i++) {
        struct berth_elf elf;

        unit_compile(unit_dir, wordy, "%s -o bare", rows[i].flags);
        remove_headers();
        elf = read_path("bare", &ours);
        ck_assert_int_eq(elf.kind, rows[i].kind);
        ck_assert_pstr_eq(elf.interpreter, rows[i].loader);
        ck_assert_uint_eq(elf.defined.count + elf.undefined.count, 0);
        berth_elf_fini(&elf);
    }
}

TEST(a_static_program_without_section_headers_tells_its_texts)
{
    static const struct berth_elf_question question = {.mark = is_a_mark};
    struct berth_elf elf;

    unit_compile(unit_dir, wordy, "-O0 -static -fno-pie -no-pie -o bare");
    remove_headers();
    elf = read_path("bare", &question);
    ck_assert_int_eq(elf.kind, BERTH_ELF_STATIC);
    ck_assert(berth_strvec_has(&elf.texts, "a mark"));
    berth_elf_fini(&elf);
}

/* A hole costs no disk, and would cost memory. */
static const struct {
    uint32_t type; /* of the sections that are large */
    ElfW(Xword) flags;
} large[] = {{SHT_STRTAB, SHF_ALLOC}, {SHT_PROGBITS, SHF_WRITE}};

TEST_ROWS(a_large_section_is_not_read, large)
{
    BERTH_CLOSE int fd = open_copy("libone.so");
    bool is_names = large[_i].type == SHT_STRTAB;
    struct berth_err err = {0};
    struct berth_elf elf;
    char bytes[8];
    ElfW(Ehdr) header;
    ElfW(Shdr) section;

    ck_assert_int_eq(berth_elf_value(fd, "my_other", bytes, sizeof(bytes)), 8);
    ck_assert_int_eq(pread(fd, &header, sizeof(header), 0), sizeof(header));
    for (int i = 0; i < header.e_shnum; i++) {
        off_t at = (off_t)(header.e_shoff + (size_t)i * sizeof(section));

        ck_assert_int_eq(pread(fd, &section, sizeof(section), at), sizeof(section));
        if (section.sh_type != large[_i].type || !(section.sh_flags & large[_i].flags))
            continue;
        section.sh_size = ((size_t)256 << 20) + 1;
        ck_assert_int_eq(pwrite(fd, &section, sizeof(section), at), sizeof(section));
    }
    ck_assert_int_eq(ftruncate(fd, (off_t)512 << 20), 0);
    ck_assert_int_eq(berth_elf_value(fd, "my_other", bytes, sizeof(bytes)), 0);
    ck_assert_int_eq(berth_elf_read(fd, &ours, &elf, &err), is_names ? -1 : 0);
    ck_assert_str_eq(err.text, is_names ? "a damaged ELF file (its dynamic section); "
                                          "install or build it again"
                                        : "");
    berth_elf_fini(&elf);
}

static const struct {
    const char *words; /* for the compiler */
    const char *id;
    size_t length;
} builds[] = {
    {"-Wl,--build-id=0x01020304", "\1\2\3\4", 4},
    {"-Wl,--build-id=0x010203040506070809", "", 0}, /* longer than the room */
    {"-Wl,--build-id=none", "", 0},
};

TEST_ROWS(the_build_id_of_a_file_is_read, builds)
{
    BERTH_FREE char *path = unit_path(unit_dir, "libbuilt.so");
    BERTH_CLOSE int fd = -1;
    char id[8] = "";

    unit_compile(unit_dir, "int built;", "-shared -fPIC %s -o libbuilt.so",
                 builds[_i].words);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_uint_eq(berth_elf_build_id(fd, id, sizeof(id)), builds[_i].length);
    ck_assert_mem_eq(id, builds[_i].id, builds[_i].length);
}

TEST(a_file_that_is_no_elf_has_no_build_id)
{
    BERTH_CLOSE int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    char id[8];

    ck_assert_uint_eq(berth_elf_build_id(fd, id, sizeof(id)), 0);
    ck_assert_uint_eq(berth_elf_build_id(-1, id, sizeof(id)), 0);
}

static const struct {
    const char *bytes;
    enum berth_elf_kind kind;
    const char *interpreter;
} scripts[] = {
    {"#!/bin/sh\necho\n", BERTH_ELF_SCRIPT, "/bin/sh"},
    {"#! /usr/bin/env python3 -u\n", BERTH_ELF_SCRIPT, "/usr/bin/env"},
    {"#!/bin/sh", BERTH_ELF_SCRIPT, "/bin/sh"},
    {"#!\t/bin/sh \n", BERTH_ELF_SCRIPT, "/bin/sh"},
    {"#!/bin/sh\r\n", BERTH_ELF_SCRIPT, "/bin/sh\r"},
    {"#!\n", BERTH_ELF_SCRIPT, NULL},
    {"#", BERTH_ELF_NONE, NULL},
    {"", BERTH_ELF_NONE, NULL},
    {"\177EL", BERTH_ELF_NONE, NULL},
    {"echo hello\n", BERTH_ELF_NONE, NULL},
};

TEST_ROWS(what_is_no_elf_is_an_answer, scripts)
{
    struct berth_elf elf;

    unit_write("script", scripts[_i].bytes, strlen(scripts[_i].bytes));
    elf = read_path("script", &ours);
    ck_assert_int_eq(elf.kind, scripts[_i].kind);
    ck_assert_pstr_eq(elf.interpreter, scripts[_i].interpreter);
    berth_elf_fini(&elf);
}

TEST(what_is_no_file_is_an_answer)
{
    ck_assert_int_eq(read_path("/dev/null", &ours).kind, BERTH_ELF_NONE);
    ck_assert_int_eq(read_path(".", &ours).kind, BERTH_ELF_NONE);
}

TEST(what_cannot_be_read_is_said)
{
    BERTH_CLOSE int fd = open("closed", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    struct berth_err err = {0};
    struct berth_elf elf;

    ck_assert_int_eq(berth_elf_read(fd, &ours, &elf, &err), -1);
    ck_assert_str_eq(err.text, "cannot be read: Bad file descriptor");
    ck_assert_int_eq(berth_elf_read(-1, &ours, &elf, &err), -1);
    ck_assert_str_eq(err.text, "cannot be read: Bad file descriptor");
}

static const struct {
    int code;
    const char *name;
} machines[] = {
    {EM_386, "i686"},      {EM_X86_64, "x86_64"}, {EM_AARCH64, "aarch64"},
    {EM_PPC64, "ppc64le"}, {EM_RISCV, "riscv64"}, {EM_S390, "s390x"},
    {EM_ARM, "armv7l"},    {EM_68K, "not told"},
};

TEST_ROWS(machines_have_the_names_of_uname, machines)
{
    BERTH_CLOSE int fd = open_copy("libone.so");
    struct berth_err err = {0};
    struct berth_elf elf;
    ElfW(Ehdr) header;

    ck_assert_int_eq(pread(fd, &header, sizeof(header), 0), sizeof(header));
    header.e_machine = (uint16_t)machines[_i].code;
    ck_assert_int_eq(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
    ck_assert_int_eq(berth_elf_read(fd, &ours, &elf, &err), 0);
    ck_assert_str_eq(elf.machine ? elf.machine : "not told", machines[_i].name);
    berth_elf_fini(&elf);
}

/* Segments and sections that lie outside the file. */
static const struct {
    off_t at; /* in the ELF header */
    const char *what;
} damages[] = {
    {EI_CLASS, "header"},
    {offsetof(ElfW(Ehdr), e_phoff), "list of segments"},
    {offsetof(ElfW(Ehdr), e_shoff), "dynamic section"},
};

TEST_ROWS(a_damage_is_named, damages)
{
    BERTH_FREE char *expected = NULL;
    BERTH_CLOSE int fd = open_copy("user");
    struct berth_err err = {0};
    struct berth_elf elf;

    ck_assert_int_eq(pwrite(fd, "\377\377\377\177", 4, damages[_i].at), 4);
    ck_assert_int_eq(berth_elf_read(fd, &ours, &elf, &err), -1);
    expected = unit_format("a damaged ELF file (its %s); install or build it again",
                           damages[_i].what);
    ck_assert_str_eq(err.text, expected);
    ck_assert_int_eq(elf.kind, BERTH_ELF_NONE);
}

void unit_prepare(TCase *tests)
{
    unit_share_directory(tests);
    tcase_add_unchecked_fixture(tests, setup, NULL);
}
