/* SPDX-License-Identifier: Apache-2.0 */
/* Other libraries of the host in the place of an image's. */

#include "bindover/hostlibs.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sides.h"
#include "unit.h"

static enum berth_profile_kind kind = BERTH_PROFILE_LIBRARIES;
static const char *mode; /* of --mpi-bind */

/* Use the libraries of the profiles WORDS, of which the host has one that replaces
 * SONAME and OTHER, for the command `app WORD`. */
static int use_libraries(const char *words, const char *soname, const char *word)
{
    const char *const replaces[] = {soname, OTHER, NULL};
    const struct berth_profile profile = {
        .kind = kind, .name = "net", .stack = "net", .replaces = replaces};
    char *sonames[] = {(char *)soname, NULL};
    struct berth_stack items[] = {
        {.profile = &profile,
         .version = (char *)"net.so.1.2",
         .sonames = {.items = sonames, .count = 1}},
        {.profile = &profile, .sonames = {.items = sonames, .count = 1}}};
    const struct berth_stacks found = {.items = items,
                                       .count = strcmp(words, "twice") == 0 ? 2 : 1};
    const struct berth_request request = {
        .image = (char *)"/a",
        .mpi = (char *)mode,
        .libs = (char *)(found.count == 2 ? "net" : words)};
    char *command[] = {(char *)"app", (char *)word, NULL};
    const struct berth_decide inside = {.request = &request,
                                        .command = command,
                                        .stacks = &found,
                                        .channel = sides.ends[1]};

    return sides_use(&inside, BERTH_PROFILE_LIBRARIES);
}

/* The reference BLAS has helpers that no other has; and the host's need not have each
 * library of the profile. */
TEST(libraries_are_judged_by_what_is_needed)
{
    sides_have("abcdef", "ax", "a");
    if (!unit_may_mount())
        return;
    ck_assert_msg(use_libraries("net", NET, "") == 0, "%s", sides.err.text);
    ck_assert_int_eq(sides.program.count, 1);
    ck_assert_ptr_null(sides.programs.binding.warning);
    ck_assert_str_eq(sides.programs.binding.note,
                     "the host's net.so.1.2 (net) is in the place of the image's");
    ck_assert_ptr_nonnull(strstr(sides.program.items[0].binds.items[1], "/image/" NET));
}

TEST(libraries_that_lack_something_are_refused)
{
    sides_have("ab", "a", "b");
    if (!unit_may_mount())
        return;
    ck_assert_int_eq(use_libraries("net", NET, ""), -1);
    ck_assert_ptr_nonnull(strstr(sides.err.text, "--container-libs=net: '"));
    ck_assert_ptr_nonnull(strstr(sides.err.text,
                                 "/app' of the image needs net_b, which the host's "
                                 "net.so.1.2 lacks; leave --container-libs out"));
}

/* The next stack is judged in the environment of the container, and on its files. */
TEST(nothing_is_left_of_libraries_that_are_refused)
{
    BERTH_FREE char *image = unit_path(sides.directory, "image/" NET);
    struct stat before, after;

    sides_have("ab", "a", "b");
    ck_assert_int_eq(stat(image, &before), 0);
    if (!unit_may_mount())
        return;
    ck_assert_int_eq(use_libraries("net", NET, ""), -1);
    ck_assert_int_eq(stat(image, &after), 0);
    ck_assert_uint_eq(after.st_ino, before.st_ino);
    ck_assert_ptr_null(getenv("NET_X"));
    ck_assert_uint_eq(sides.programs.operations.count, 0);
}

/* A site may link the name to a library of a vendor, which has another SONAME. */
TEST(libraries_stand_under_the_names_of_their_files)
{
    BERTH_FREE char *from = unit_path(sides.directory, "stage/lib/" NET);
    BERTH_FREE char *to = unit_path(sides.directory, "stage/lib/libvendor.so.2");

    sides_compile("image", NET, "a");
    sides_compile("stage/lib", "libvendor.so.2", "a");
    ck_assert_int_eq(symlink("libvendor.so.2", from), 0);
    sides_compile_program(NET, "a");
    sides_write_manifest("libvendor.so.2");
    if (!unit_may_mount())
        return;
    ck_assert_msg(use_libraries("net", NET, "") == 0, "%s", sides.err.text);
    ck_assert_ptr_nonnull(
        strstr(sides.program.items[0].binds.items[0], "/stage/lib/" NET));
    ck_assert_int_eq(sides.program.count, 1);
}

/* A rank counts that loads one of them, so the note of the ranks names both. */
TEST(libraries_stand_beside_a_fabric)
{
    static const char *const replaces[][2] = {{NET, NULL}, {OTHER, NULL}};
    static char *sonames[] = {(char *)OTHER, NULL};
    static char *command[] = {(char *)"app", NULL};
    const struct berth_profile profiles[] = {{.kind = BERTH_PROFILE_FABRIC,
                                              .name = "net",
                                              .stack = "net",
                                              .replaces = replaces[0]},
                                             {.kind = BERTH_PROFILE_LIBRARIES,
                                              .name = "blas",
                                              .stack = "blas",
                                              .replaces = replaces[1]}};
    struct berth_stack items[] = {{.profile = &profiles[0], .version = (char *)"UCX 1"},
                                  {.profile = &profiles[1],
                                   .version = (char *)"BLAS 2",
                                   .sonames = {.items = sonames, .count = 1}}};
    const struct berth_stacks found = {.items = items, .count = 2};
    const struct berth_request request = {
        .image = (char *)"/a", .mpi = (char *)"auto", .libs = (char *)"net,blas"};
    const struct berth_decide inside = {.request = &request,
                                        .command = command,
                                        .stacks = &found,
                                        .channel = sides.ends[1]};

    sides_compile("image", NET, "a");
    sides_compile("image", OTHER, "z");
    sides_compile("stage/lib", NET, "a");
    sides_compile("stage/lib", OTHER, "z");
    sides_compile_program(NET " -l:" OTHER, "az");
    sides_write_manifest(NET);
    if (!unit_may_mount())
        return;
    ck_assert_msg(sides_use(&inside, BERTH_PROFILE_FABRIC) == 0, "%s", sides.err.text);
    ck_assert_str_eq(sides.programs.binding.fabric, "UCX 1 (net)");
    sides_write_manifest(OTHER);
    ck_assert_msg(
        berth_hostlibs_use(&sides.programs, BERTH_PROFILE_LIBRARIES, &sides.err) == 0,
        "%s", sides.err.text);
    ck_assert_str_eq(sides.programs.binding.fabric, "UCX 1 (net) or BLAS 2 (blas)");
}

/* As ScaLAPACK, whose MPI is not to be another one than the program's. */
TEST(libraries_that_need_an_mpi_are_for_the_host_s)
{
    sides_have("a", NULL, "a");
    unit_compile(
        sides.directory,
        "int net_a(void) { return 0; } int MPI_Init(void) { return 0; } "
        "int PMPI_Init(void) { return 0; } int MPIR_Dup_fn(void) { return 0; }",
        "-shared -fPIC -Wl,-soname,%s -o stage/lib/%s", NET, NET);
    sides_write_manifest(NET);
    ck_assert_int_eq(use_libraries("net", NET, ""), -1);
    ck_assert_str_eq(sides.err.text,
                     "--container-libs=net: the host's net.so.1.2 needs "
                     "'" NET "' of the host, and the program uses the image's "
                     "MPI (--mpi-bind=host); leave --container-libs out");
    sides.program.items[0].family = BERTH_FAMILY_MPICH; /* the host's is in place */
    sides.program.count = sides.program.accepted = 1;
    sides.program.wants.family = BERTH_FAMILY_OPENMPI;
    sides_write_manifest(NET);
    ck_assert_int_eq(use_libraries("net", NET, ""), -1);
    ck_assert_str_eq(sides.err.text,
                     "--container-libs=net: the host's net.so.1.2 needs "
                     "'" NET "' of the host, and the program uses Open MPI; leave "
                     "--container-libs out");
}

/* The program is one that starts others. */
TEST(a_program_among_the_words_counts)
{
    BERTH_FREE char *path = unit_path(sides.directory, "app");
    BERTH_FREE char *own = unit_path(sides.directory, "image");
    BERTH_FREE char *word = NULL;

    sides_compile("image", "libberth-none.so.1", "c");
    sides_have("ab", "a", "b");
    word = unit_format("exec %s -x; true", path);
    berth_scan_fini(&sides.program.scan);
    unit_compile(sides.directory,
                 "int net_c(void); int _start(void) { return net_c(); }",
                 "-Wl,-rpath,%s -Limage -l:libberth-none.so.1 -o sh", own);
    sides_scan("sh");
    setenv("LD_LIBRARY_PATH", own, 1);
    if (!unit_may_mount())
        return;
    ck_assert_int_eq(use_libraries("net", NET, word), -1);
    ck_assert_ptr_nonnull(
        strstr(sides.err.text, "/app' of the image needs net_b, which"));
}

TEST(a_static_program_has_nothing_to_replace)
{
    sides_compile_static();
    ck_assert_ptr_null(sides.program.scan.loader);
    ck_assert_msg(use_libraries("net", NET, "") == 0, "%s", sides.err.text);
    ck_assert_str_eq(sides.programs.binding.warning,
                     "no program of this step is known to need '" NET "' of the image, "
                     "which the host's replaces (--container-libs=net)");
    ck_assert_ptr_null(sides.programs.binding.note);
}

/* Though the one that starts it needs the library itself, and gets all of it. */
TEST(a_program_among_the_words_counts_behind_a_user)
{
    BERTH_FREE char *path = unit_path(sides.directory, "app");
    BERTH_FREE char *other = unit_path(sides.directory, "other");

    sides_have("ab", "a", "b");
    ck_assert_int_eq(rename(path, other), 0);
    berth_scan_fini(&sides.program.scan);
    sides_compile_program(NET, "a");
    if (!unit_may_mount())
        return;
    ck_assert_int_eq(use_libraries("net", NET, other), -1);
    ck_assert_ptr_nonnull(
        strstr(sides.err.text, "/other' of the image needs net_b, which"));
}

TEST(libraries_that_the_host_lacks_or_has_twice_are_refused)
{
    sides_have("a", NULL, "a");
    ck_assert_int_eq(use_libraries("net,mkl", NET, ""), -1);
    ck_assert_str_eq(sides.err.text, "--container-libs=mkl: this host has no such "
                                     "libraries; see `berth profiles`");
    kind = BERTH_PROFILE_FABRIC;
    mode = "host";
    ck_assert_int_eq(use_libraries("net", NET, ""), -1);
    ck_assert_str_eq(sides.err.text,
                     "--container-libs=net: it is for an image's own MPI whose ranks "
                     "srun starts, not for --mpi-bind=host; choose --mpi-bind=hybrid, "
                     "or leave --container-libs out");
    kind = BERTH_PROFILE_LIBRARIES;
    mode = NULL;
    ck_assert_int_eq(use_libraries("twice", NET, ""), -1);
    ck_assert_str_eq(sides.err.text,
                     "--container-libs: 'net' and 'net' both replace '" NET
                     "'; name one of them");
}

/* A program that is linked with NET, and a stage for UCS. False: nothing can be mounted
 * here. */
static bool prepare(void)
{
    BERTH_FREE char *own = unit_path(sides.directory, "image");

    sides_have("a", NULL, "a");
    setenv("LD_LIBRARY_PATH", own, 1);
    sides_write_manifest(UCS);
    sides_make_directory("stage/lib/ucx");
    return unit_may_mount();
}

TEST(libraries_that_nobody_is_known_to_need_are_told)
{
    sides_compile("image", UCS, "a");
    sides_compile("stage/lib", UCS, "a");
    if (!prepare())
        return;
    ck_assert_msg(use_libraries("net", UCS, "") == 0, "%s", sides.err.text);
    ck_assert_str_eq(sides.programs.binding.warning,
                     "no program of this step is known to need '" UCS
                     "' of the image, which "
                     "the host's replaces (--container-libs=net)");
}

/* A script may need it, and it needs a library of the image that lacks a symbol
 * anyway. */
TEST(what_the_image_lacks_anyway_is_not_missed)
{
    static const char source[] = "int other(void); int net_a(void) { return other(); }";

    unit_compile(sides.directory, "int gone(void); int other(void) { return gone(); }",
                 "-shared -fPIC -Wl,-soname," OTHER " -o image/" OTHER);
    unit_compile(sides.directory, source,
                 "-shared -fPIC -Wl,-soname," UCS " -o image/" UCS " image/" OTHER);
    unit_compile(sides.directory, source,
                 "-shared -fPIC -Wl,-soname," UCS " -o stage/lib/" UCS " image/" OTHER);
    if (!prepare())
        return;
    ck_assert_msg(use_libraries("net", UCS, "") == 0, "%s", sides.err.text);
}

void unit_prepare(TCase *tests)
{
    tcase_add_checked_fixture(tests, sides_set_up, sides_tear_down);
}
