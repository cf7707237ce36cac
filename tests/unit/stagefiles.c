/* SPDX-License-Identifier: Apache-2.0 */
/* What belongs to a stage: stacks in the layouts that distributions and vendors
 * document.
 */

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "install.h"
#include "bindover/loader.h"
#include "bindover/offered.h"
#include "staging.h"
#include "unit.h"

TEST(a_stage_has_all_that_is_linked_and_opened)
{
    BERTH_FREE char *told = NULL;
    struct berth_staged staged;

    staging_install();
    staged = staging_make();
    told = staging_tell(&staged);
    ck_assert_str_eq(told, "lib/libmpi.so.12\n"
                           "lib/libucs.so.0\n"
                           "lib/libmpifort.so.12\n"
                           "lib/ucx/libuct_one.so\n"
                           "lib/libdep.so.1\n"
                           "lib/ucx/libuct_two.so.0\n"
                           "lib/libberth-mark.so\n"
                           "lib/ucx/libuct_one.so.0 -> libuct_one.so\n"
                           "lib/libuct_one.so.0 -> ucx/libuct_one.so\n"
                           "mpi/libmpi.so -> ../lib/libmpi.so.12\n"
                           "mpi/libmpi.so.12 -> ../lib/libmpi.so.12\n"
                           "mpi/libmpich.so -> ../lib/libmpi.so.12\n"
                           "mpi/libmpich.so.12 -> ../lib/libmpi.so.12\n"
                           "lib/libmpich.so.12 -> libmpi.so.12\n"
                           "mpi/libmpifort.so -> ../lib/libmpifort.so.12\n"
                           "mpi/libmpifort.so.12 -> ../lib/libmpifort.so.12\n"
                           "mpi/libmpichfort.so -> ../lib/libmpifort.so.12\n"
                           "mpi/libmpichfort.so.12 -> ../lib/libmpifort.so.12\n"
                           "lib/libmpichfort.so.12 -> libmpifort.so.12\n"
                           "mpi/libmpichf90.so -> ../lib/libmpifort.so.12\n"
                           "mpi/libmpichf90.so.12 -> ../lib/libmpifort.so.12\n"
                           "lib/libmpichf90.so.12 -> libmpifort.so.12\n"
                           "UCX_MODULE_DIR=@/lib/ucx\n");
    ck_assert_str_eq(staged.manifest.version, "MPICH 4.2.1");
    ck_assert_int_eq(staging_entries("mpich-"), 1);
    ck_assert_int_eq(staging_entries(""), 1);
    berth_staged_fini(&staged);
}

/* The loader, without any variable, on each file of the stage. */
TEST(all_that_is_in_a_stage_finds_what_is_there)
{
    static char *const bare[] = {NULL};
    BERTH_FREE char *loader = NULL;
    BERTH_FREE char *program = NULL;
    struct berth_staged staged;
    struct berth_err err;
    int found = 0;

    staging_install();
    staged = staging_make();
    unit_remove(host);
    ck_assert_int_eq(berth_loader_self(&loader, &program, &err), 0);
    for (size_t i = 0; i < staged.manifest.files.count; i += BERTH_MANIFEST_FILE) {
        BERTH_FREE char *file = unit_path(staged.path, staged.manifest.files.items[i]);
        struct berth_closure closure;

        if (strncmp(staged.manifest.files.items[i], "lib/", 4) != 0)
            continue;
        ck_assert_int_eq(berth_loader_list(NULL, loader, file, bare, &closure, &err),
                         0);
        for (size_t j = 0; j < closure.count; j++) {
            if (berth_profile_is_glibc(closure.items[j].soname))
                continue;
            ck_assert_msg(closure.items[j].path != NULL, "%s: %s", file,
                          closure.items[j].soname);
            ck_assert_int_eq(
                strncmp(closure.items[j].path, staged.path, strlen(staged.path)), 0);
            found++;
        }
        berth_closure_fini(&closure);
    }
    ck_assert_int_ge(found, 5);
    berth_staged_fini(&staged);
}

/* All of glibc is staged, so that the image's is never mixed with it. */
TEST(glibc_is_staged_apart_and_unchanged)
{
    static const char *const names[] = {"libc.so.6", "libm.so.6", "libnss_dns.so.2",
                                        "libpthread.so.0"};
    BERTH_FREE char *loader = NULL;
    BERTH_FREE char *program = NULL;
    struct berth_staged staged;
    struct berth_err err;
    struct stat st, original;

    staging_install();
    staged = staging_make();
    for (int i = 0; i < COUNT(names); i++) {
        BERTH_FREE char *in = unit_path(staged.path, "glibc");
        BERTH_FREE char *path = unit_path(in, names[i]);

        ck_assert_msg(stat(path, &st) == 0, "%s is not there", path);
    }
    ck_assert_int_eq(berth_loader_self(&loader, &program, &err), 0);
    ck_assert_int_eq(stat(loader, &original), 0);
    for (size_t i = 0; i < staged.manifest.files.count; i += BERTH_MANIFEST_FILE)
        if (strncmp(staged.manifest.files.items[i], "glibc/ld-", 9) == 0)
            ck_assert_int_eq(atoll(staged.manifest.files.items[i + 2]),
                             original.st_size);
    ck_assert_int_eq(staging_entries("mpich-"), 1);
    berth_staged_fini(&staged);
}

static struct berth_elf read_staged(const struct berth_staged *staged, const char *file)
{
    static const struct berth_elf_question everything = {0};
    BERTH_FREE char *path = unit_path(staged->path, file);
    BERTH_CLOSE int fd = open(path, O_RDONLY);
    struct berth_elf elf;
    struct berth_err err;

    ck_assert_msg(berth_elf_read(fd, &everything, &elf, &err) == 0, "%s", err.text);
    return elf;
}

/* The library that marks runs with any C library. */
TEST(the_c_library_brings_the_one_that_marks)
{
    struct berth_staged staged;
    struct berth_elf elf;

    staging_install();
    staged = staging_make();
    elf = read_staged(&staged, "lib/libmpi.so.12");
    ck_assert(berth_strvec_has(&elf.needed, "libberth-mark.so"));
    ck_assert_str_eq(elf.soname, "libmpi.so.12");
    berth_elf_fini(&elf);
    elf = read_staged(&staged, "lib/libmpifort.so.12");
    ck_assert(!berth_strvec_has(&elf.needed, "libberth-mark.so"));
    berth_elf_fini(&elf);
    elf = read_staged(&staged, "lib/libberth-mark.so");
    ck_assert_str_eq(elf.soname, "libberth-mark.so");
    ck_assert_uint_eq(elf.needed.count, 0);
    ck_assert_uint_eq(elf.version_needs.count, 0);
    ck_assert_uint_eq(elf.undefined.count, 2);
    ck_assert_ptr_nonnull(berth_elf_find(&elf.undefined, "syscall"));
    ck_assert_ptr_nonnull(berth_elf_find(&elf.undefined, "dl_iterate_phdr"));
    berth_elf_fini(&elf);
    berth_staged_fini(&staged);
}

/* Functions of libmpifort.so.12, and whether a program in C may look for them in
 * libmpi.so.12. */
static const struct {
    const char *functions;
    bool needed;
} sisters[] = {
    {"int MPI_Comm_f2c(int i) { return i; }", true},
    {"int PMPI_Comm_f2c(int i) { return i; }", true},
    {"int PMPI_Init(void) { return 0; } int MPI_Status_c2f08(void) { return 0; }"
     "int MPI_SEND(void) { return 0; } int MPI_Send_(void) { return 0; }"
     "int MPI_Send_f(void) { return 0; } int MPI_Send_f08(void) { return 0; }",
     false},
};

static void move_functions(const char *functions)
{
    BERTH_FREE char *source =
        unit_format("extern int MPIR_Err_return_comm; void pmpi_init_(void) "
                    "{ MPIR_Err_return_comm++; } %s",
                    functions);
    unit_compile(host, source,
                 "-shared -fPIC -Wl,-soname,libmpifort.so.12" LIBC
                 " -L. -l:libmpi.so.12 -o libmpifort.so.12");
}

TEST_ROWS(the_c_library_needs_the_sister_that_completes_it, sisters)
{
    struct berth_staged staged;
    struct berth_elf elf;

    staging_install();
    move_functions(sisters[_i].functions);
    staged = staging_make();
    elf = read_staged(&staged, "lib/libmpi.so.12");
    ck_assert_int_eq(berth_strvec_has(&elf.needed, "libmpifort.so.12"),
                     sisters[_i].needed);
    berth_elf_fini(&elf);
    elf = read_staged(&staged, "lib/libmpifort.so.12");
    ck_assert(!berth_strvec_has(&elf.needed, "libmpifort.so.12"));
    berth_elf_fini(&elf);
    berth_staged_fini(&staged);
}

/* The loader starts a program that needs only libmpi.so.12. */
TEST(a_function_that_has_moved_is_found)
{
    BERTH_FREE char *command = NULL;
    struct berth_staged staged;

    staging_install();
    unit_compile(directory, "int MPI_Comm_f2c(int i) { return i; }",
                 "-shared -fPIC -Wl,-soname,libmpi.so.12 -o libmpi.so.12");
    unit_compile(directory,
                 "void _exit(int); int MPI_Comm_f2c(int);"
                 "void _start(void) { _exit(MPI_Comm_f2c(7)); }",
                 "-L. -l:libmpi.so.12 -lc -o program");
    move_functions("int MPI_Comm_f2c(int i) { return i; }");
    staged = staging_make();
    command = unit_format("LD_BIND_NOW=1 LD_LIBRARY_PATH='%s/mpi' '%s/program'",
                          staged.path, directory);
    ck_assert_int_eq(system(command), 7 << 8);
    berth_staged_fini(&staged);
}

/* `berth inspect` judges stacks that are not staged. */
TEST(a_candidate_is_what_would_be_staged)
{
    const struct berth_terms terms = {0};
    BERTH_STRVEC struct berth_strvec env = {0};
    const struct berth_mpi_object *library;
    struct berth_offered offered;
    struct berth_err err;

    staging_install();
    move_functions("int MPI_Comm_f2c(int i) { return i; }");
    berth_strvec_pushf(&env, "MPI_HOME=%s/host", directory);
    berth_strvec_pushf(&env, "LD_LIBRARY_PATH=%s", host);
    ck_assert_msg(berth_offered_read(&terms, 1 << BERTH_PROFILE_MPI, env.items,
                                     &offered, &err) == 0 &&
                      berth_offered_read_files(&offered, &err) == 0,
                  "%s", err.text);
    library = berth_mpi_objects_mpi(&offered.objects[0], BERTH_FAMILY_MPICH);
    ck_assert_ptr_nonnull(library);
    ck_assert(berth_strvec_has(&library->elf.needed, "libmpifort.so.12"));
    berth_offered_fini(&offered);
}

TEST(mpi_that_lacks_a_library_is_refused)
{
    BERTH_FREE char *library = unit_path(host, "libucs.so.0");
    BERTH_FREE char *why = NULL;

    staging_install();
    ck_assert_int_eq(unlink(library), 0);
    why = staging_refusal();
    ck_assert_str_eq(why,
                     "'@/host/lib/libmpi.so.12': needs 'libucs.so.0', which this host "
                     "does not find; load its module, or set LD_LIBRARY_PATH");
}

TEST(mpi_without_glibc_is_refused)
{
    BERTH_FREE char *prefix = unit_path(directory, "host");
    BERTH_FREE char *why = NULL;

    install_library(host, "mpich", "libmpi.so.12", "");
    staging_find_stack("MPI_HOME", prefix, host);
    why = staging_refusal();
    ck_assert_str_eq(why, "'libc.so.6': cannot be read: No such file or directory");
}

/* The documented layout of HPE: the MPI with MPICH's ABI, PALS and libfabric beside it,
 * the GPU transport above it. */
TEST(a_cray_stack_is_whole)
{
    BERTH_FREE char *top = unit_path(directory, "opt/cray/pe/mpich/8.1.29");
    BERTH_FREE char *mpi = unit_path(top, "ofi/gnu/12.3");
    BERTH_FREE char *lib = unit_path(mpi, "lib-abi-mpich");
    BERTH_FREE char *gtl = unit_path(top, "gtl/lib");
    BERTH_FREE char *fabric = unit_path(directory, "opt/cray/libfabric/1.15/lib64");
    BERTH_FREE char *providers = unit_path(fabric, "libfabric");
    BERTH_FREE char *words = NULL;
    BERTH_FREE char *told = NULL;
    struct berth_staged staged;

    install_directory(providers);
    install_plain(fabric, "libcxi.so.1", LIBC);
    install_plain(fabric, "libpals.so.0", LIBC);
    install_plain(fabric, "libfabric.so.1", LIBC);
    unit_compile(providers, "int nothing;", "-shared -fPIC" LIBC " -o libcxi-fi.so");
    install_plain(gtl, "libmpi_gtl_hsa.so", LIBC);
    words = unit_format("-Wl,--no-as-needed -L%s -l:libfabric.so.1 "
                        "-l:libpals.so.0 -lc",
                        fabric);
    install_library(lib, "cray", "libmpi.so.12", words);
    staging_find_stack("CRAY_MPICH_DIR", mpi, fabric);
    ck_assert_str_eq(stack->profile->name, "cray-mpich-slingshot");
    staged = staging_make();
    told = staging_tell(&staged);
    ck_assert_str_eq(told, "lib/libmpi.so.12\n"
                           "lib/libfabric.so.1\n"
                           "lib/libpals.so.0\n"
                           "lib/libcxi.so.1\n"
                           "lib/gtl/libmpi_gtl_hsa.so\n"
                           "lib/libfabric/libcxi-fi.so\n"
                           "lib/libberth-mark.so\n"
                           "mpi/libmpi.so -> ../lib/libmpi.so.12\n"
                           "mpi/libmpi.so.12 -> ../lib/libmpi.so.12\n"
                           "mpi/libmpich.so -> ../lib/libmpi.so.12\n"
                           "mpi/libmpich.so.12 -> ../lib/libmpi.so.12\n"
                           "lib/libmpich.so.12 -> libmpi.so.12\n"
                           "FI_PROVIDER_PATH=@/lib/libfabric\n");
    berth_staged_fini(&staged);
}

/* oneAPI's: libfabric is opened by name, tuning files are read. */
TEST(an_intel_stack_brings_its_files)
{
    BERTH_FREE char *prefix = unit_path(directory, "host");
    BERTH_FREE char *fabric = unit_path(prefix, "opt/mpi/libfabric/lib");
    BERTH_FREE char *providers = unit_path(fabric, "prov");
    BERTH_FREE char *etc = unit_path(prefix, "opt/mpi/etc");
    BERTH_FREE char *tuning = unit_path(etc, "tuning_skx_shm.dat");
    BERTH_FREE char *told = NULL;
    struct berth_staged staged;

    install_directory(etc);
    install_directory(providers);
    unit_write(tuning, "tuned\n", 6);
    install_plain(fabric, "libfabric.so.1", LIBC);
    unit_compile(providers, "int nothing;", "-shared -fPIC" LIBC " -o libtcp-fi.so");
    install_library(host, "intel", "libmpi.so.12", "-Wl,--no-as-needed -lc");
    staging_find_stack("I_MPI_ROOT", prefix, host);
    staged = staging_make();
    told = staging_tell(&staged);
    ck_assert_ptr_nonnull(strstr(told, "lib/libmpi.so.12\nlib/libfabric.so.1\n"));
    ck_assert_ptr_nonnull(strstr(told, "\nlib/libfabric/libtcp-fi.so\n"));
    ck_assert_ptr_nonnull(strstr(told, "\nopt/mpi/etc/tuning_skx_shm.dat\n"));
    ck_assert_ptr_nonnull(
        strstr(told, "\nI_MPI_ROOT=@\nFI_PROVIDER_PATH=@/lib/libfabric\n"));
    berth_staged_fini(&staged);
}

/* An install that a site names, with a directory of libraries that it opens, of which
 * one lacks something. */
TEST(what_a_site_names_comes_along)
{
    static const char *const places[] = {"../nowhere", "../extra", NULL};
    static const char *const environment[] = {"A=$STAGE/lib/x", "B=$STAG$STAGE", NULL};
    const struct berth_data plugins[] = {{places, "lib/x"}, {0}};
    BERTH_FREE char *prefix = unit_path(directory, "host");
    BERTH_FREE char *told = NULL;
    const struct berth_profile profiles[] = {{.name = "own",
                                              .label = "own:1",
                                              .stack = "own",
                                              .family = BERTH_FAMILY_MPICH,
                                              .prefix = prefix,
                                              .plugins = plugins,
                                              .environment = environment},
                                             {0}};
    struct berth_staged staged;

    staging_install();
    unit_run("mkdir '%s/extra' && cp '%s'/ucx/*_bad* '%s/extra' && "
             "cp '%s'/ucx/*_one.so.0 '%s/extra/libsite.so'",
             prefix, host, prefix, host, prefix);
    staging_find_profile(profiles, host);
    ck_assert_str_eq(stack->profile->name, "own");
    ck_assert_str_eq(stack->origin, "profile 'own'");
    staged = staging_make();
    told = staging_tell(&staged);
    ck_assert_ptr_nonnull(strstr(told, "\nlib/x/libsite.so\n"));
    ck_assert_ptr_null(strstr(told, "libuct_bad"));
    ck_assert_ptr_nonnull(strstr(told, "\nlib/libdep.so.1\n"));
    ck_assert_ptr_nonnull(strstr(told, "\nA=@/lib/x\nB=$STAG@\n"));
    ck_assert_int_eq(staging_entries("own-"), 1);
    berth_staged_fini(&staged);
}

TEST(a_stack_of_too_many_files_is_none)
{
    BERTH_FREE char *prefix = unit_path(directory, "host");
    BERTH_FREE char *etc = unit_path(prefix, "etc");
    BERTH_FREE char *why = NULL;

    install_library(host, "intel", "libmpi.so.12", "-Wl,--no-as-needed -lc");
    install_directory(etc);
    unit_run("cd '%s' && seq 4100 | xargs touch", etc);
    staging_find_stack("I_MPI_ROOT", prefix, host);
    why = staging_refusal();
    ck_assert_str_eq(why,
                     "'@/host/lib/libmpi.so.12': it consists of more than 4096 files");
}

/* A driver that is a link to a library counts too: mlx5 of rdma-core is one. */
TEST(verbs_drivers_are_named)
{
    BERTH_FREE char *prefix = unit_path(directory, "host");
    BERTH_FREE char *drivers = unit_path(host, "libibverbs");
    BERTH_FREE char *link = unit_path(drivers, "libmlx5-rdmav34.so");
    BERTH_FREE char *told = NULL;
    struct berth_staged staged;

    install_directory(drivers);
    install_plain(host, "libibverbs.so.1", LIBC);
    install_plain(host, "libmlx5.so.1", LIBC);
    unit_compile(drivers, "int nothing;", "-shared -fPIC" LIBC " -o librxe-rdmav34.so");
    ck_assert_int_eq(symlink("../libmlx5.so.1", link), 0);
    install_library(host, "mpich", "libmpi.so.12",
                    "-Wl,--no-as-needed -L. -l:libibverbs.so.1 -l:libmlx5.so.1 -lc");
    staging_find_stack("MPI_HOME", prefix, host);
    staged = staging_make();
    told = staging_tell(&staged);
    ck_assert_ptr_nonnull(
        strstr(told, "lib/libibverbs/libmlx5-rdmav34.so -> ../libmlx5.so.1\n"));
    ck_assert_ptr_nonnull(strstr(told, "\nRDMAV_DRIVERS=@/lib/libibverbs/librxe:"));
    ck_assert_ptr_nonnull(strstr(told, "/lib/libibverbs/libmlx5\n"));
    berth_staged_fini(&staged);
}

void unit_prepare(TCase *tests)
{
    tcase_add_unchecked_fixture(tests, staging_compile, staging_remove);
    tcase_add_checked_fixture(tests, staging_setup, staging_teardown);
}
