/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of an image and of a host that are compiled here, and a mount namespace of
 * the test's own. */

#include "sides.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bindover/hostlibs.h"
#include "ipc/channel.h"
#include "unit.h"

extern char **environ;

struct sides sides;

void sides_make_directory(const char *name)
{
    BERTH_FREE char *path = unit_path(sides.directory, name);

    ck_assert_int_eq(mkdir(path, 0755), 0);
}

void sides_set_up(void)
{
    sides.directory = unit_directory();
    sides_make_directory("image");
    sides_make_directory("stage");
    sides_make_directory("stage/lib");
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sides.ends),
                     0);
}

void sides_tear_down(void)
{
    sides.program.accepted = 0;
    sides.programs.accepted = 0;
    berth_bindover_refuse(&sides.programs, &sides.err);
    berth_operations_fini(&sides.programs.operations);
    berth_binding_fini(&sides.programs.binding);
    free(sides.programs.refused);
    free(sides.program.items);
    berth_scan_fini(&sides.program.scan);
    unit_remove(sides.directory);
    free(sides.directory);
}

void sides_compile(const char *place, const char *soname, const char *functions)
{
    BERTH_FREE char *source = NULL;
    size_t size;
    FILE *text = open_memstream(&source, &size);

    for (; *functions; functions++)
        fprintf(text, "int net_%c(void) { return 0; }\n", *functions);
    fclose(text);
    unit_compile(sides.directory, source, "-shared -fPIC -Wl,-soname,%s -o %s/%s",
                 soname, place, soname);
}

void sides_compile_program(const char *soname, const char *functions)
{
    BERTH_FREE char *source = NULL;
    size_t size;
    FILE *text = open_memstream(&source, &size);

    for (const char *it = functions; *it; it++)
        fprintf(text, "int net_%c(void);\n", *it);
    fputs("int _start(void) { return 0", text);
    for (const char *it = functions; *it; it++)
        fprintf(text, " + net_%c()", *it);
    fputs("; }\n", text);
    fclose(text);
    unit_compile(sides.directory, source, "-Wl,-rpath,%s/image -Limage -l:%s -o app",
                 sides.directory, soname);
    sides_scan("app");
}

void sides_compile_static(void)
{
    unit_compile(sides.directory, "int _start(void) { return 0; }", "-static -o app");
    sides_scan("app");
}

void sides_scan(const char *name)
{
    BERTH_FREE char *path = unit_path(sides.directory, name);

    ck_assert_int_eq(
        berth_scan_program(NULL, path, environ, &sides.program.scan, &sides.err), 0);
}

void sides_write_manifest(const char *soname)
{
    BERTH_FREE char *path = unit_path(sides.directory, "stage/manifest");
    BERTH_FREE char *answer = NULL;
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fprintf(file,
            "1;stage:profile=net&version=1&from=/usr/lib/%s&mounted=/x&set=NET_X%%3D1"
            "&files=lib/%s&files=%s&files=1;.",
            soname, soname, soname);
    fclose(file);
    answer = unit_format("/host/stage\n%s/stage", sides.directory);
    ck_assert_int_eq(
        berth_channel_send(sides.ends[0], BERTH_CHANNEL_STAGED, answer, &sides.err), 0);
}

void sides_have(const char *image, const char *staged, const char *needed)
{
    sides_compile("image", NET, image);
    if (staged) {
        sides_compile("stage/lib", NET, staged);
        sides_write_manifest(NET);
    }
    sides_compile_program(NET, needed);
}

int sides_use(const struct berth_decide *inside, enum berth_profile_kind kind)
{
    struct berth_programs *programs = &sides.programs;
    size_t count = inside->stacks->count;

    berth_binding_fini(&programs->binding);
    free(programs->refused);
    programs->refused = calloc(count, sizeof(*programs->refused));
    if (!sides.program.items)
        sides.program.items = calloc(count + 1, sizeof(*sides.program.items));
    programs->inside = inside;
    programs->items = &sides.program;
    programs->count = programs->all = 1;
    programs->binding = (struct berth_binding){0};
    ck_assert(programs->refused && sides.program.items);
    return berth_hostlibs_use(programs, kind, &sides.err);
}
