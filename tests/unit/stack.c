/* SPDX-License-Identifier: Apache-2.0 */
/* Which MPI stacks a host has. The hosts are trees of libraries that are compiled here,
 * in the layouts that vendors document. */

#include "bindover/offered.h"

#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "install.h"
#include "unit.h"

enum { MPIS = 1 << BERTH_PROFILE_MPI, LIBRARIES = 1 << BERTH_PROFILE_LIBRARIES };

/* The stacks below the directory, one a line: this host may have more. */
static char *tell(const struct berth_stacks *stacks)
{
    struct berth_buf buf = {0};
    size_t length = strlen(unit_dir);

    berth_buf_puts(&buf, "");
    for (size_t i = 0; i < stacks->count; i++) {
        const struct berth_stack *it = &stacks->items[i];

        if (strncmp(it->libraries[0].path, unit_dir, length) != 0)
            continue;
        berth_buf_puts(&buf, it->profile->name);
        berth_buf_puts(&buf, ", ");
        berth_buf_puts(&buf, it->version);
        berth_buf_puts(&buf, ", by ");
        berth_buf_puts(&buf, it->origin);
        for (size_t j = 0; j < it->count; j++) {
            char parts[16];

            snprintf(parts, sizeof(parts), "=%u", it->libraries[j].parts);
            berth_buf_puts(&buf, j ? " " : ": ");
            berth_buf_puts(&buf, it->libraries[j].path + length);
            berth_buf_puts(&buf, parts);
        }
        berth_buf_puts(&buf, "\n");
    }
    return buf.text ? buf.text : strdup("");
}

/* KIND:DIRECTORY/FILE[+WORD...], with blanks between. */
static void install(const char *files)
{
    BERTH_FREE char *copy = strdup(files);
    char *rest = copy;

    for (char *word; (word = strsep(&rest, " "));) {
        char *path = strchr(word, ':');
        char *words = strchr(word, '+');
        char *slash;
        BERTH_FREE char *where = NULL;

        if (words)
            *words++ = '\0';
        for (char *at = words; at && (at = strchr(at, '+'));)
            *at = ' ';
        slash = strrchr(word, '/');
        *path++ = '\0';
        *slash++ = '\0';
        where = unit_path(unit_dir, path);
        install_library(where, word, slash, words ? words : "");
    }
}

/* It is linked with FILE in DIRECTORY, though it uses nothing of it. */
#define NEEDS(directory, file) "+-Wl,--no-as-needed+-L" directory "+-l:" file

static const struct {
    const char *files;
    const char *env[4];
    const char *found;
} hosts[] = {
    /* As MPICH and Spack install. */
    {"mpich:a/lib/libmpi.so.12 mpich:a/lib/libmpicxx.so.12 "
     "mpich:a/lib/libmpifort.so.12",
     {"MPI_HOME=@/a"},
     "mpich, MPICH 4.2.1, by MPI_HOME: /a/lib/libmpi.so.12=1 /a/lib/libmpicxx.so.12=16 "
     "/a/lib/libmpifort.so.12=2\n"},
    {"mpich:a/lib64/libmpi.so.12",
     {"MPICH_DIR=@/a"},
     "mpich, MPICH 4.2.1, by MPICH_DIR: /a/lib64/libmpi.so.12=1\n"},
    /* A module that sets only this; and one that sets both. */
    {"openmpi:o/libmpi.so.40 openmpi:o/libmpi_mpifh.so.40 "
     "openmpi:o/libmpi_usempif08.so.40",
     {"LD_LIBRARY_PATH=/nowhere:@/o"},
     "openmpi, Open MPI 5.0.7, by the loader: /o/libmpi.so.40=1 "
     "/o/libmpi_mpifh.so.40=2 /o/libmpi_usempif08.so.40=8\n"},
    {"openmpi:o/lib/libmpi.so.40",
     {"OPAL_PREFIX=@/o", "LD_LIBRARY_PATH=@/o/lib", "MPI_HOME=@/o"},
     "openmpi, Open MPI 5.0.7, by MPI_HOME: /o/lib/libmpi.so.40=1\n"},
    /* Debian: both in one directory. */
    {"mpich:d/libmpich.so.12 mpich:d/libmpichfort.so.12 openmpi:d/libmpi.so.40 "
     "openmpi:d/libmpi_mpifh.so.40",
     {"LD_LIBRARY_PATH=@/d"},
     "openmpi, Open MPI 5.0.7, by the loader: /d/libmpi.so.40=1 "
     "/d/libmpi_mpifh.so.40=2\n"
     "mpich, MPICH 4.2.1, by the loader: /d/libmpich.so.12=1 "
     "/d/libmpichfort.so.12=2\n"},
    /* oneAPI, and before 2021.10. */
    {"intel:i/lib/libmpi.so.12 intel:i/lib/libmpifort.so.12" NEEDS(".", "libmpi.so.12"),
     {"I_MPI_ROOT=@/i"},
     "intel, Intel MPI 2021.19.0, by I_MPI_ROOT: /i/lib/libmpi.so.12=1 "
     "/i/lib/libmpifort.so.12=2\n"},
    {"intel:i/lib/release/libmpi.so.12",
     {"I_MPI_ROOT=@/i"},
     "intel, Intel MPI 2021.19.0, by I_MPI_ROOT: /i/lib/release/libmpi.so.12=1\n"},
    /* Cray: the one with MPICH's ABI, not that of a compiler. */
    {"cray:c/lib/libmpi_gnu_123.so.12" NEEDS(
         "../pals", "libpals.so.0") " "
                                    "cray:c/lib-abi-mpich/libmpi.so.12" NEEDS(
                                        "../pals", "libpals.so.0"),
     {"CRAY_MPICH_DIR=@/c"},
     "cray-mpich-slingshot, Cray MPICH, by CRAY_MPICH_DIR: "
     "/c/lib-abi-mpich/libmpi.so.12=1\n"},
    {"cray:c/lib/libmpi.so.12" NEEDS("../ugni", "libugni.so.0"),
     {"CRAY_MPICH_DIR=@/c"},
     "cray-mpich-aries, Cray MPICH, by CRAY_MPICH_DIR: /c/lib/libmpi.so.12=1\n"},
    /* Cray's MPI without a known network counts as MPICH. */
    {"cray:c/lib/libmpi.so.12",
     {"CRAY_MPICH_DIR=@/c"},
     "mpich, Cray MPICH, by CRAY_MPICH_DIR: /c/lib/libmpi.so.12=1\n"},
    {"mvapich:v/lib/libmpi.so.12",
     {"MPI_HOME=@/v"},
     "mvapich, MVAPICH, by MPI_HOME: /v/lib/libmpi.so.12=1\n"},
    /* An empty directory, or none. */
    {"mpich:a/lib/libmpi.so.12", {"MPI_HOME=@/b"}, ""},
    {"mpich:a/lib/libmpi.so.12", {"MPI_HOME=a"}, ""},
    {"mpich:a/lib/libmpi.so.12", {"MPI_HOME="}, ""},
    /* Fortran's library alone is not an MPI. */
    {"mpich:a/lib/libmpifort.so.12", {"MPI_HOME=@/a"}, ""},
};

/* What stands in the way of compiling the Cray libraries: what they need. */
static void install_networks(void)
{
    install("cray:c/pals/libpals.so.0 cray:c/ugni/libugni.so.0");
}

TEST_ROWS(a_host_has_its_stacks, hosts)
{
    BERTH_STRVEC struct berth_strvec env = {0};
    BERTH_FREE char *told = NULL;
    struct berth_stacks stacks;
    struct berth_err err;

    if (strstr(hosts[_i].files, "cray:"))
        install_networks();
    install(hosts[_i].files);
    berth_strvec_push(&env, "PATH=/usr/bin:/bin");
    for (int i = 0; hosts[_i].env[i]; i++) {
        BERTH_FREE char *variable = unit_fill(hosts[_i].env[i], unit_dir);

        berth_strvec_push(&env, variable);
    }
    ck_assert_msg(
        berth_stacks_find(NULL, berth_profiles, MPIS, env.items, &stacks, &err) == 0,
        "%s", err.text);
    told = tell(&stacks);
    ck_assert_str_eq(told, hosts[_i].found);
    berth_stacks_fini(&stacks);
}

/* Links, copies under other names, and files that are not libraries. */
TEST(a_library_counts_once_and_by_its_soname)
{
    BERTH_FREE char *lib = unit_fill("@/a/lib", unit_dir);
    BERTH_FREE char *home = unit_fill("MPI_HOME=@/a", unit_dir);
    BERTH_FREE char *told = NULL;
    char *const env[] = {home, NULL};
    struct berth_stacks stacks;
    struct berth_err err;

    install("mpich:a/lib/libmpich.so.12");
    ck_assert_int_eq(chdir(lib), 0);
    ck_assert_int_eq(symlink("libmpich.so.12", "libmpi.so.12"), 0);
    ck_assert_int_eq(symlink("nowhere", "libmpi.so.40"), 0);
    ck_assert_int_eq(link("libmpich.so.12", "libmpich.so.12.4.1"), 0);
    unit_write("libmpifort.so.12", "no ELF\n", 7);
    unit_write("libmpi.so", "INPUT(libmpi.so.12)\n", 20);
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(berth_stacks_find(NULL, berth_profiles, MPIS, env, &stacks, &err),
                     0);
    told = tell(&stacks);
    ck_assert_str_eq(told,
                     "mpich, MPICH 4.2.1, by MPI_HOME: /a/lib/libmpich.so.12=1\n");
    berth_stacks_fini(&stacks);
}

TEST(a_stack_has_the_path_that_led_to_it)
{
    BERTH_FREE char *path = unit_fill("LD_LIBRARY_PATH=@/d", unit_dir);
    char *const env[] = {path, NULL};
    struct berth_stacks stacks;
    struct berth_err err;

    install("mpich:d/libmpi.so.12");
    ck_assert_int_eq(berth_stacks_find(NULL, berth_profiles, MPIS, env, &stacks, &err),
                     0);
    ck_assert_str_eq(stacks.items[0].search, path + 16);
    berth_stacks_fini(&stacks);
}

static const struct {
    const char *order[3]; /* names of stacks and of profiles */
    const char *all;
} places[] = {
    {{NULL}, "(one) two three (four) none "},
    {{"two"}, "two (one) three (four) none "},
    {{"four"}, "(four) (one) two three none "},
    {{"none", "two"}, "none two (one) three (four) "},
    {{"nobody", "twin"}, "two three (one) (four) none "},
    {{"none", "twin", "two"}, "none two three (one) (four) "},
};

/* The site prefers some. What it names and this node lacks has a place as if it were
 * there. */
TEST_ROWS(the_site_prefers, places)
{
    static const struct berth_profile profiles[] = {
        {.name = "one", .stack = "one", .label = "one:1", .prefix = "/1"},
        {.name = "two", .stack = "twin", .label = "two:2", .prefix = "/2"},
        {.name = "three", .stack = "twin", .label = "three:3", .prefix = "/3"},
        {.name = "four", .stack = "four", .label = "four:4", .prefix = "/4"},
        {.name = "net", .kind = BERTH_PROFILE_FABRIC, .label = "net:5", .prefix = "/5"},
        {.name = "none", .stack = "none"},
        {0},
    };
    static const size_t present[] = {1, 2, 5};
    BERTH_STRVEC struct berth_strvec order = {0};
    struct berth_stacks found = {0};
    struct berth_err err;
    char all[64] = "";

    for (size_t i = 0; i < COUNT(present); i++) {
        struct berth_stack stack = {.profile = &profiles[present[i]],
                                    .version = strdup("1")};

        ck_assert_int_eq(berth_append(&found, &stack), 0);
    }
    for (int i = 0; i < 3 && places[_i].order[i]; i++) {
        berth_strvec_push(&order, places[_i].order[i]);
        berth_strvec_push(&order, "/b.yaml:3");
    }
    ck_assert_int_eq(berth_offered_add_absent(profiles, MPIS, &found, &err), 0);
    berth_offered_sort(&found, &order);
    for (size_t i = 0; i < found.count; i++) {
        bool is_absent = !found.items[i].version;

        strcat(strcat(all, is_absent ? "(" : ""), found.items[i].profile->name);
        strcat(all, is_absent ? ") " : " ");
    }
    ck_assert_str_eq(all, places[_i].all);
    berth_stacks_fini(&found);
}

/* A fabric's place is that of its profile: one for each of two partitions. One without
 * a prefix may be missing as well, but no plugin. */
TEST(a_missing_fabric_comes_after_those_of_earlier_profiles)
{
    static const char *const replaces[] = {"libplugin.so", NULL};
    static const struct berth_profile profiles[] = {
        {.name = "one", .kind = BERTH_PROFILE_FABRIC, .label = "1", .prefix = "/1"},
        {.name = "two", .kind = BERTH_PROFILE_FABRIC, .label = "2"},
        {.name = "three", .kind = BERTH_PROFILE_FABRIC, .label = "3", .prefix = "/3"},
        {.name = "ours", .kind = BERTH_PROFILE_FABRIC},
        {.name = "plugin", .kind = BERTH_PROFILE_FABRIC, .adds = replaces},
        {0},
    };
    struct berth_stacks found = {0};
    struct berth_stack two = {.profile = &profiles[1], .version = strdup("1")};
    struct berth_err err;

    ck_assert_int_eq(berth_append(&found, &two), 0);
    ck_assert_int_eq(
        berth_offered_add_absent(profiles, 1 << BERTH_PROFILE_FABRIC, &found, &err), 0);
    ck_assert_uint_eq(found.count, COUNT(profiles) - 2);
    for (size_t i = 0; i < found.count; i++)
        ck_assert_ptr_eq(found.items[i].profile, &profiles[i]);
    berth_stacks_fini(&found);
}

/* An install that a site names is found only by its prefix, and first. */
TEST(a_profile_with_a_prefix_is_for_what_is_there)
{
    BERTH_FREE char *path = unit_fill("LD_LIBRARY_PATH=@/d", unit_dir);
    BERTH_FREE char *prefix = unit_fill("@/p", unit_dir);
    BERTH_FREE char *other = unit_fill("@/q", unit_dir);
    BERTH_FREE char *told = NULL;
    const struct berth_profile profiles[] = {
        {.name = "own", .stack = "own", .family = BERTH_FAMILY_MPICH, .prefix = prefix},
        {.name = "odd",
         .stack = "odd",
         .family = BERTH_FAMILY_OPENMPI,
         .prefix = prefix},
        {.name = "twin",
         .stack = "own",
         .family = BERTH_FAMILY_MPICH,
         .prefix = prefix},
        {.name = "not", .stack = "not", .family = BERTH_FAMILY_MPICH, .prefix = other},
        {.name = "mpich", .stack = "mpich", .family = BERTH_FAMILY_MPICH},
        {0}};
    char *const env[] = {path, NULL};
    struct berth_stacks stacks;
    struct berth_err err;

    install("mpich:d/libmpi.so.12 mpich:p/lib64/libmpi.so.12");
    ck_assert_int_eq(berth_stacks_find(NULL, profiles, MPIS, env, &stacks, &err), 0);
    told = tell(&stacks);
    ck_assert_str_eq(told,
                     "own, MPICH 4.2.1, by profile 'own': /p/lib64/libmpi.so.12=1\n"
                     "twin, MPICH 4.2.1, by profile 'twin': /p/lib64/libmpi.so.12=1\n"
                     "mpich, MPICH 4.2.1, by the loader: /d/libmpi.so.12=1\n");
    berth_stacks_fini(&stacks);
}

/* Each replaces its own name in an image: a host may have OpenBLAS under its own name
 * alone, and another BLAS under the first one. */
TEST(libraries_are_there_by_any_of_their_names)
{
    static const char *const replaces[] = {"libnine.so.3", "libten.so.3",
                                           "libopen.so.0", NULL};
    static const char *const needs[] = {"libopen*.so.*", NULL};
    BERTH_FREE char *path = unit_fill("LD_LIBRARY_PATH=@", unit_dir);
    const struct berth_profile profiles[] = {{.kind = BERTH_PROFILE_LIBRARIES,
                                              .name = "open",
                                              .stack = "open",
                                              .replaces = replaces,
                                              .needs = needs},
                                             {0}};
    char *const env[] = {path, NULL};
    struct berth_stacks stacks;
    struct berth_err err;

    unit_compile(unit_dir, "int nine;", "-shared -fPIC -o libnine.so.3");
    ck_assert_int_eq(berth_stacks_find(NULL, profiles, LIBRARIES, env, &stacks, &err),
                     0);
    ck_assert_uint_eq(stacks.count, 0);
    unit_compile(unit_dir, "int open;",
                 "-shared -fPIC -Wl,-soname,libopen.so.0 -o libopen.so.0");
    ck_assert_int_eq(berth_stacks_find(NULL, profiles, LIBRARIES, env, &stacks, &err),
                     0);
    ck_assert_uint_eq(stacks.count, 1);
    ck_assert_uint_eq(stacks.items[0].count, 1);
    ck_assert_str_eq(berth_stack_first(&stacks.items[0]), "libopen.so.0");
    ck_assert_str_eq(stacks.items[0].version, "libopen.so.0");
    ck_assert_str_eq(berth_stack_replaces(&stacks.items[0])[0], "libopen.so.0");
    ck_assert_ptr_null(berth_stack_replaces(&stacks.items[0])[1]);
    berth_stacks_fini(&stacks);
    unit_compile(unit_dir, "int ten;",
                 "-shared -fPIC -Wl,--no-as-needed -L. -l:libopen.so.0 -o libten.so.3");
    ck_assert_int_eq(berth_stacks_find(NULL, profiles, LIBRARIES, env, &stacks, &err),
                     0);
    ck_assert_uint_eq(stacks.items[0].count, 2);
    ck_assert_str_eq(berth_stack_first(&stacks.items[0]), "libten.so.3");
    berth_stacks_fini(&stacks);
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
}
