/* SPDX-License-Identifier: Apache-2.0 */
/* What loaders say, read. The texts are those of glibc 2.27 to 2.43 and musl 1.2, but
 * for the addresses. */

#include "elf/closure.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "unit.h"

static char *tell(const struct berth_closure *closure)
{
    BERTH_STRVEC struct berth_strvec lines = {0};

    for (size_t i = 0; i < closure->count; i++)
        berth_strvec_pushf(&lines, "%s: %s", closure->items[i].soname,
                           closure->items[i].path ? closure->items[i].path : "-");
    for (size_t i = 0; i < closure->lacks.count; i += 3)
        berth_strvec_pushf(&lines, "%s lacks %s for %s", closure->lacks.items[i],
                           closure->lacks.items[i + 1], closure->lacks.items[i + 2]);
    if (closure->is_static)
        berth_strvec_push(&lines, "static");
    for (size_t i = 0; i < closure->undefined.count; i += 2)
        berth_strvec_pushf(&lines, "undefined: %s (%s)", closure->undefined.items[i],
                           closure->undefined.items[i + 1]);
    for (size_t i = 0; i < closure->said.count; i++)
        berth_strvec_pushf(&lines, "said: %s", closure->said.items[i]);
    return unit_lines(&lines);
}

static const struct {
    const char *text;
    const char *lines;
} good[] = {
    {"", ""},
    {"\tlinux-vdso.so.1 (0x00007fe687cdd000)\n"
     "\tlibb.so.1 => ./libb.so.1 (0x00007fe687ccb000)\n"
     "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007fe687ae0000)\n"
     "\t/lib64/ld-linux-x86-64.so.2 (0x00007fe687cdf000)\n",
     "libb.so.1: ./libb.so.1\n"
     "libc.so.6: /lib/x86_64-linux-gnu/libc.so.6\n"
     "ld-linux-x86-64.so.2: /lib64/ld-linux-x86-64.so.2\n"},
    {"\tlinux-gate.so.1 (0xf7f0d000)\n\tlibc.so.6 => /lib/libc.so.6 (0xf7c00000)\n",
     "libc.so.6: /lib/libc.so.6\n"},
    {"\tlibmpi.so.12 => not found\n\tlibmpi.so.12 => not found\n", "libmpi.so.12: -\n"},
    {"\t/opt/app/libx.so (0x00007f)\n", "libx.so: /opt/app/libx.so\n"},
    {"\t/lib64/ld-linux-x86-64.so.2 => /tmp/ld.so (0x00007f)\n",
     "ld-linux-x86-64.so.2: /tmp/ld.so\n"},
    {"\tlibb.so.1 => d =>/libb.so.1 (0x00007f)\n", "libb.so.1: d =>/libb.so.1\n"},
    {"\tlibb.so.1 => /a (0x1)/libb.so.1 (0x00007f)\n",
     "libb.so.1: /a (0x1)/libb.so.1\n"},
    {"\tstatically linked\n", "static\n"},
    {"./a: ./libb.so.1: version `V_2' not found (required by ./a)\n",
     "./libb.so.1 lacks V_2 for ./a\n"},
    {"./a: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found (required "
     "by "
     "/.berth/mpi/libhwloc.so.15)\r\n",
     "/lib/x86_64-linux-gnu/libc.so.6 lacks GLIBC_2.38 for "
     "/.berth/mpi/libhwloc.so.15\n"},
    {"./a: ./libb.so.1: no version information available (required by ./a)\n", ""},
    {"./a: error while loading shared libraries: libb.so.1: cannot open shared object "
     "file: No such file or directory\n",
     "libb.so.1: -\n"},
    {"./a: error while loading shared libraries: ./a: invalid ELF header\n",
     "said: ./a: error while loading shared libraries: ./a: invalid ELF header\n"},
    {"undefined symbol: f, version V1\t(./a)\nundefined symbol: g\t(./a)\n",
     "undefined: f, version V1 (./a)\nundefined: g (./a)\n"},
    {"symbol f, version V1 not defined in file libb.so.1 with link time reference"
     "\t(./a)\n",
     "undefined: f, version V1 (./a)\n"},
    {"symbol lookup error: ./a: undefined symbol: f (fatal)\n",
     "said: symbol lookup error: ./a: undefined symbol: f (fatal)\n"},
    {"\t/lib/ld-musl-x86_64.so.1 (0x7f0b4c0d5000)\n"
     "\tlibmpi.so.12 => /usr/lib/libmpi.so.12 (0x7f0b4b000000)\n"
     "\tlibc.musl-x86_64.so.1 => /lib/ld-musl-x86_64.so.1 (0x7f0b4c0d5000)\n"
     "Error loading shared library libx.so.1: No such file or directory (needed by "
     "./a)\n"
     "Error relocating ./a: f: symbol not found\n",
     "ld-musl-x86_64.so.1: /lib/ld-musl-x86_64.so.1\n"
     "libmpi.so.12: /usr/lib/libmpi.so.12\n"
     "libc.musl-x86_64.so.1: /lib/ld-musl-x86_64.so.1\n"
     "libx.so.1: -\n"
     "said: Error relocating ./a: f: symbol not found\n"},
};

TEST_ROWS(loaders_are_understood, good)
{
    BERTH_FREE char *lines = NULL;
    struct berth_closure closure;
    struct berth_err err = {0};

    ck_assert_msg(
        berth_closure_parse(good[_i].text, strlen(good[_i].text), &closure, &err) == 0,
        "%s", err.text);
    lines = tell(&closure);
    ck_assert_str_eq(lines, good[_i].lines);
    berth_closure_fini(&closure);
}

static const struct {
    const char *text;
    size_t count;
    const char *error;
} bad[] = {
    {"\0x", 2, "expected a loader's list of libraries, got ''"},
    {"\thello\n", 7, "expected a line of a loader, got 'hello'"},
    {"\tlibx => /x\n", 12, "expected a line of a loader, got 'libx'"},
};

TEST_ROWS(what_is_no_loader_s_is_refused, bad)
{
    struct berth_closure closure;
    struct berth_err err = {0};

    ck_assert_int_eq(berth_closure_parse(bad[_i].text, bad[_i].count, &closure, &err),
                     -1);
    ck_assert_str_eq(err.text, bad[_i].error);
    ck_assert_uint_eq(closure.count, 0);
}
