/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of ELF files as bytes. */

#include "elf/facts.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static void setup(void)
{
    static const char map[] = "ONE_1 { global: my_data; my_function; };\n";
    static const char script[] = "#!/bin/sh\n";
    BERTH_FREE char *versions = NULL;
    BERTH_FREE char *text = NULL;

    versions = unit_path(unit_dir, "map");
    text = unit_path(unit_dir, "script");
    unit_write(versions, map, strlen(map));
    unit_write(text, script, strlen(script));
    unit_compile(unit_dir,
                 "int my_data[10]; void maybe(void) __attribute__((weak));"
                 "int my_function(void) { if (maybe) maybe(); return my_data[1]; }",
                 "-shared -fPIC -Wl,-soname,libver.so.1 -Wl,--version-script=map "
                 "-o libver.so");
    unit_compile(unit_dir,
                 "extern int my_data[10]; int my_function(void);"
                 "void _start(void) { my_data[0] = my_function(); }",
                 "-fno-pie -no-pie -L. -l:libver.so -Wl,-rpath,/a%%b -o user");
}

static bool is_long(const char *text)
{
    return strlen(text) > 8;
}

/* Is ELF, read back from its bytes, as it was? */
static void comes_back(const struct berth_elf *elf)
{
    BERTH_BUF struct berth_buf bytes = {0};
    BERTH_BUF struct berth_buf again = {0};
    struct berth_elf back;

    berth_elf_put(elf, &bytes);
    ck_assert_int_eq(berth_elf_get(bytes.text, bytes.used, &back), 0);
    berth_elf_put(&back, &again);
    ck_assert_uint_eq(again.used, bytes.used);
    ck_assert_mem_eq(again.text, bytes.text, bytes.used);
    ck_assert_int_eq(back.kind, elf->kind);
    ck_assert_uint_eq(back.version_needs.count, elf->version_needs.count);
    ck_assert(!berth_elf_find(&back.defined, "not_there"));
    if (elf->defined.count)
        ck_assert(berth_elf_find(&back.defined, elf->defined.items[0].name));
    berth_elf_fini(&back);
    for (size_t cut = 0; cut < bytes.used; cut++)
        if (berth_elf_get(bytes.text, cut, &back) == 0)
            berth_elf_fini(&back);
}

TEST_TIMES(facts_come_back_from_bytes, 3)
{
    static const struct berth_elf_question all = {.text = is_long};
    static const char *const names[] = {"libver.so", "user", "script"};
    BERTH_FREE char *path = unit_path(unit_dir, names[_i]);
    BERTH_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct berth_elf elf;
    struct berth_err err;

    ck_assert_int_eq(berth_elf_read(fd, &all, &elf, &err), 0);
    comes_back(&elf);
    berth_elf_fini(&elf);
}

/* Bytes that are no facts. */
static const struct {
    const char *bytes;
    size_t count;
} damaged[] = {
    {"", 0}, {"kind=4", 6}, {"kind=x", 7}, {"kind=4\0x00 a", 13}, {"kind=4\0d9 a", 11},
};

TEST_ROWS(damaged_facts_are_none, damaged)
{
    struct berth_elf elf;

    ck_assert_int_eq(berth_elf_get(damaged[_i].bytes, damaged[_i].count, &elf), -1);
}

void unit_prepare(TCase *tests)
{
    unit_share_directory(tests);
    tcase_add_unchecked_fixture(tests, setup, NULL);
}
