/* SPDX-License-Identifier: Apache-2.0 */
/* A stage over an image: libraries that are compiled here, in a mount namespace of the
 * test's own. Where it may not have one, the loader is played. */

#include "bindover/bindover.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bindover/verify.h"
#include "unit.h"

#define MPI_CODE                                                                       \
    "int MPI_Init(void) { return 0; } int PMPI_Init(void) { return 0; } "              \
    "int MPIR_Err_return_comm(void) { return 0; } int MPIR_Dup_fn(void) { return 0; }"

#define MANIFEST_START                                                                 \
    "1;stage:profile=mpich&version=MPICH&from=/usr/lib/libmpi.so.12&mounted=/x"        \
    "&set=MPICH_X%3D1&files=lib/libmpi.so.12&files=libmpi.so.12&files=1"
#define MANIFEST_TWIN "&files=lib/libatomic.so.1&files=libatomic.so.1&files=1"
#define MANIFEST_END  ";."

static char *top, *template;
static char *directory;
static struct berth_err err;
static struct berth_replacement replacement;
static struct berth_operations operations;
static struct berth_trial trial;
static struct berth_scan scan;
static struct berth_mpi_program program;

static void make_directory(const char *name)
{
    BERTH_FREE char *path = unit_path(directory, name);

    ck_assert_int_eq(mkdir(path, 0755), 0);
}

/* What each test starts with, compiled once, in TOP/template. */
static void compile(void)
{
    top = unit_directory();
    directory = template = unit_path(top, "template");
    ck_assert_int_eq(mkdir(directory, 0755), 0);
    make_directory("image");
    make_directory("stage");
    make_directory("stage/lib");
    unit_compile(directory, MPI_CODE " int image_one;",
                 "-shared -fPIC -Wl,-soname,libmpi.so.12 -o image/libmpi.so.12");
    unit_compile(directory, MPI_CODE " int staged_one;",
                 "-shared -fPIC -Wl,-soname,libmpi.so.12 -o stage/lib/libmpi.so.12");
    unit_compile(directory,
                 "int MPI_Init(void); int _start(void) { return MPI_Init(); }",
                 "-Wl,-rpath,%s/used/image -Limage -l:libmpi.so.12 -o app", top);
    unit_file(directory, "stage/manifest", 0644, MANIFEST_START MANIFEST_END);
}

static void clean(void)
{
    unit_remove(top);
    free(template);
    free(top);
}

static const struct berth_profile profile;
static const struct berth_stack stack = {.profile = &profile};

static void setup(void)
{
    directory = unit_path(top, "used");
    unit_run("cp -a '%s' '%s'", template, directory);
    replacement =
        (struct berth_replacement){.family = BERTH_FAMILY_MPICH, .stack = &stack};
}

static void teardown(void)
{
    berth_operations_fini(&operations);
    berth_replacement_fini(&replacement);
    berth_mpi_program_fini(&program);
    berth_scan_fini(&scan);
    unit_remove(directory);
    free(directory);
}

static char *const bare[] = {(char *)"PATH=/usr/bin:/bin", NULL};

static void look_at(const char *name)
{
    BERTH_FREE char *path = unit_path(directory, name);

    ck_assert_int_eq(berth_scan_program(NULL, path, bare, &scan, &err), 0);
    ck_assert_int_eq(berth_mpi_program_read(&scan.objects, &program, &err), 0);
}

static void open_stage(void)
{
    BERTH_FREE char *stage = unit_path(directory, "stage");

    ck_assert_msg(
        berth_replacement_open(NULL, stage, "/host/stage", &replacement, &err) == 0,
        "%s", err.text);
}

/* Do all steps before the mounts. */
static void plan(void)
{
    look_at("app");
    open_stage();
    ck_assert_msg(berth_replacement_plan(&replacement, &program, &scan, bare, &err) ==
                      0,
                  "%s", err.text);
}

/* Do the mounts of the plan, in a copy of the namespace. */
static void try_mounts(void)
{
    ck_assert_msg(berth_trial_begin(&trial, &err) == 0, "%s", err.text);
    berth_operations_add(&operations, &replacement.binds, &replacement.set,
                         &replacement);
    ck_assert_msg(berth_operations_do(&operations, 0, &err) == 0, "%s", err.text);
}

static void end_trial(void)
{
    ck_assert_msg(berth_trial_end(&trial, &err) == 0, "%s", err.text);
}

/* Ask the loader, which may add mounts. */
static int verify(void)
{
    return berth_replacement_verify(&replacement, &scan, &operations, bare, &err);
}

TEST(the_staged_library_runs)
{
    plan();
    ck_assert_uint_eq(replacement.binds.count, 2);
    ck_assert_ptr_nonnull(
        strstr(replacement.binds.items[0], "/stage/lib/libmpi.so.12"));
    ck_assert_ptr_nonnull(strstr(replacement.binds.items[1], "/image/libmpi.so.12"));
    ck_assert_uint_eq(replacement.set.count, 1);
    ck_assert_str_eq(replacement.set.items[0], "MPICH_X=1");
    if (!unit_may_mount())
        return;
    try_mounts();
    ck_assert_msg(verify() == 0, "%s", err.text);
    end_trial();
    ck_assert_int_eq(verify(), -1);
}

TEST(the_image_s_library_is_noticed)
{
    plan();
    ck_assert_int_eq(verify(), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "/app' would run with /"));
    ck_assert_ptr_nonnull(strstr(err.text, "/image/libmpi.so.12 and not with the "
                                           "host's MPI; choose --mpi-bind=hybrid"));
}

TEST(a_program_without_the_library_is_noticed)
{
    plan();
    berth_scan_fini(&scan);
    ck_assert_int_eq(berth_scan_program(NULL, "/bin/sh", bare, &scan, &err), 0);
    ck_assert_int_eq(verify(), -1);
    ck_assert_str_eq(err.text, "'/bin/sh' would run with no MPI and not with the "
                               "host's MPI; choose --mpi-bind=hybrid");
}

/* The library `libother.so.1` that the program was linked with, as VERSION_2 or gone.
 */
static void change_other(const char *map)
{
    if (!map) {
        BERTH_FREE char *path = unit_path(directory, "image/libother.so.1");

        ck_assert_int_eq(unlink(path), 0);
        return;
    }
    unit_file(directory, "other.map", 0644, map);
    unit_compile(directory, "int other(void) { return 0; }",
                 "-shared -fPIC -Wl,-soname,libother.so.1 "
                 "-Wl,--version-script=other.map -o image/libother.so.1");
}

static const struct {
    const char *map;
    const char *error; /* a part of the sentence */
} outcomes[] = {
    {NULL, "with the host's MPI, 'libother.so.1' is not found in the image; choose "
           "--mpi-bind=hybrid"},
    {"VERSION_1 { other; };", "/image/libother.so.1', which is older; choose "
                              "--mpi-bind=hybrid"},
};

TEST_ROWS(what_is_missing_is_named, outcomes)
{
    plan();
    change_other("VERSION_1 { }; VERSION_2 { other; } VERSION_1;");
    unit_compile(directory,
                 "int MPI_Init(void); int other(void); "
                 "int _start(void) { return MPI_Init() + other(); }",
                 "-Wl,-rpath,%s/image -Limage -l:libmpi.so.12 -l:libother.so.1 -o app",
                 directory);
    change_other(outcomes[_i].map);
    ck_assert_int_eq(verify(), -1);
    ck_assert_msg(strstr(err.text, outcomes[_i].error), "%s", err.text);
}

/* No mode has it. */
TEST(what_the_image_lacks_is_named)
{
    change_other("VERSION_1 { other; };");
    unit_compile(directory,
                 "int MPI_Init(void); int other(void); "
                 "int _start(void) { return MPI_Init() + other(); }",
                 "-Wl,-rpath,%s/image -Limage -l:libmpi.so.12 -l:libother.so.1 -o app",
                 directory);
    change_other(NULL);
    plan();
    ck_assert_int_eq(verify(), -1);
    ck_assert_msg(
        strstr(err.text,
               "/app' needs 'libother.so.1', which is not in the image; install it "
               "there, or mount the directory that has it and name that in "
               "LD_LIBRARY_PATH (--container-env)"),
        "%s", err.text);
    ck_assert_ptr_null(strstr(err.text, "hybrid"));
}

/* An image may have libraries for 32 bits beside its own. */
TEST(a_library_for_another_machine_is_not_seen)
{
    BERTH_FREE char *library = unit_path(directory, "image/libmpi.so.12");
    BERTH_FREE char *search = NULL;
    char *env[] = {NULL, NULL};
    Elf64_Ehdr header;
    int fd;

    search = unit_format("LD_LIBRARY_PATH=%s/image", directory);
    env[0] = search;
    for (int foreign = 0; foreign < 2; foreign++) {
        size_t count = 0;

        ck_assert_int_eq(berth_scan_program(NULL, "/bin/sh", env, &scan, &err), 0);
        ck_assert_int_eq(berth_scan_image(&scan, env, &err), 0);
        for (size_t i = 0; i < scan.objects.count; i++)
            count += strcmp(scan.objects.items[i].path, library) == 0;
        ck_assert_uint_eq(count, foreign ? 0 : 1);
        berth_scan_fini(&scan);
        fd = open(library, O_RDWR | O_CLOEXEC);
        ck_assert_int_eq(pread(fd, &header, sizeof(header), 0), sizeof(header));
        header.e_machine = header.e_machine == EM_S390 ? EM_PPC64 : EM_S390;
        ck_assert_int_eq(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
        close(fd);
    }
}

TEST(a_file_that_cannot_be_mounted_over_is_named)
{
    plan();
    free(replacement.binds.items[1]);
    replacement.binds.items[1] = strdup("/not/there");
    berth_operations_add(&operations, &replacement.binds, &replacement.set,
                         &replacement);
    ck_assert_int_eq(berth_operations_do(&operations, 0, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot mount '"));
    ck_assert_ptr_nonnull(strstr(err.text, "/lib/libmpi.so.12' over '/not/there': "));
}

TEST(without_a_loader_nobody_can_be_asked)
{
    plan();
    free(scan.loader);
    scan.loader = NULL;
    ck_assert_int_eq(verify(), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "' is linked statically, so no library "));
}

/* A program whose library the image does not have finds the staged one by name. */
TEST(a_library_that_is_nowhere_is_found_by_name)
{
    BERTH_FREE char *library = unit_path(directory, "image/libmpi.so.12");
    char *const env[] = {(char *)"LD_LIBRARY_PATH=/own", NULL};
    BERTH_FREE char *expected = NULL;

    ck_assert_int_eq(unlink(library), 0);
    look_at("app");
    open_stage();
    ck_assert_msg(berth_replacement_plan(&replacement, &program, &scan, env, &err) == 0,
                  "%s", err.text);
    ck_assert_uint_eq(replacement.binds.count, 0);
    expected = unit_format("LD_LIBRARY_PATH=%s/stage/mpi:/own", directory);
    ck_assert_str_eq(replacement.set.items[1], expected);
}

/* A vendor may remove them. Such a program counts as one that may load MPI later, such
 * a library as one without MPI. */
TEST(files_without_section_headers_are_no_obstacle)
{
    static const char *const names[] = {"image/libvendor.so", "app"};

    unit_compile(directory, "int vendor(void) { return 0; }",
                 "-shared -fPIC -Wl,-soname,libvendor.so -o image/libvendor.so");
    unit_compile(directory,
                 "int MPI_Init(void); int vendor(void); "
                 "int _start(void) { return MPI_Init() + vendor(); }",
                 "-Wl,-rpath,%s/image -Limage -l:libmpi.so.12 -l:libvendor.so -o app",
                 directory);
    for (int i = 0; i < COUNT(names); i++) {
        BERTH_FREE char *path = unit_path(directory, names[i]);
        BERTH_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
        const ElfW(Off) none = 0;

        ck_assert_int_eq(pwrite(fd, &none, sizeof(none), offsetof(ElfW(Ehdr), e_shoff)),
                         sizeof(none));
        look_at("app");
        ck_assert_ptr_nonnull(berth_mpi_objects_mpi(&scan.objects, BERTH_FAMILY_MPICH));
        ck_assert_int_eq(program.family, i ? BERTH_FAMILY_NONE : BERTH_FAMILY_MPICH);
        ck_assert_ptr_null(program.inside);
        if (i == 0) {
            berth_mpi_program_fini(&program);
            berth_scan_fini(&scan);
        }
    }
    open_stage();
    ck_assert_msg(berth_replacement_plan(&replacement, &program, &scan, bare, &err) ==
                      0,
                  "%s", err.text);
    ck_assert_uint_eq(replacement.binds.count, 2);
    ck_assert_ptr_nonnull(strstr(replacement.binds.items[1], "/image/libmpi.so.12"));
}

TEST(a_damaged_stage_is_refused)
{
    unit_file(directory, "stage/manifest", 0644, "berth-stage 5\nend");
    look_at("app");
    ck_assert_int_eq(
        berth_replacement_open(NULL, "/not/there", "/x", &replacement, &err), -1);
    ck_assert_str_eq(
        err.text, "'/not/there/manifest': cannot be read: No such file or directory");
}

/* Interpreters of interpreters come to an end. One that is not there is the task's to
 * report. */
TEST(a_script_is_run_by_its_interpreter)
{
    BERTH_FREE char *loop = unit_path(directory, "loop");
    BERTH_FREE char *script = unit_path(directory, "script");
    BERTH_FREE char *text = NULL;

    unit_file(directory, "script", 0755, "#!/bin/sh\n");
    look_at("script");
    ck_assert(scan.is_script);
    ck_assert_str_eq(scan.runner, "/bin/sh");
    ck_assert_int_eq(program.family, BERTH_FAMILY_NONE);
    berth_mpi_program_fini(&program);
    berth_scan_fini(&scan);
    unit_file(directory, "script", 0755, "#!/no/such/interpreter\n");
    ck_assert_int_eq(berth_scan_program(NULL, script, bare, &scan, &err), 0);
    ck_assert_ptr_null(scan.runner);
    berth_scan_fini(&scan);
    text = unit_format("#!%s\n", loop);
    unit_file(directory, "loop", 0755, text);
    ck_assert_int_eq(berth_scan_program(NULL, loop, bare, &scan, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot be started: Too many levels"));
}

/* A libatomic.so.1 of both sides, of which one has VERSION_2 too; the host's MPI
 * wants the newest that the host's has. */
static void make_twins(bool host_is_newer)
{
    static const char *const maps[] = {"VERSION_1 { twin; };",
                                       "VERSION_1 { }; VERSION_2 { twin; } VERSION_1;"};
    const char *const places[] = {"image", "stage/lib"};

    for (int i = 0; i < 2; i++) {
        unit_file(directory, "twin.map", 0644, maps[(i == 1) == host_is_newer]);
        unit_compile(directory, "int twin(void) { return 0; }",
                     "-shared -fPIC -Wl,-soname,libatomic.so.1 "
                     "-Wl,--version-script=twin.map -o %s/libatomic.so.1",
                     places[i]);
    }
    unit_compile(directory,
                 MPI_CODE " int twin(void); int staged(void) { return twin(); }",
                 "-shared -fPIC -Wl,-soname,libmpi.so.12 -Wl,-rpath,%s/stage/lib "
                 "-Lstage/lib -l:libatomic.so.1 -o stage/lib/libmpi.so.12",
                 directory);
    unit_file(directory, "stage/manifest", 0644,
              MANIFEST_START MANIFEST_TWIN MANIFEST_END);
}

/* An interpreter may load the image's before the host's MPI, or after it. */
TEST_TIMES(a_library_of_both_sides_serves_both, 2)
{
    static const char *const twins[] = {"libatomic.so.1", NULL};
    bool host_is_newer = _i;
    BERTH_FREE char *image = unit_path(directory, "image");
    BERTH_FREE char *search = NULL;
    char *env[] = {(char *)"PATH=/usr/bin:/bin", NULL, NULL};
    struct stat from, over;
    const struct berth_strvec *pairs = &replacement.binds;
    const size_t at = 2;

    make_twins(host_is_newer);
    search = unit_format("LD_LIBRARY_PATH=%s", image);
    env[1] = search;
    ck_assert_int_eq(berth_scan_program(NULL, "/bin/sh", env, &scan, &err), 0);
    ck_assert_int_eq(berth_scan_image(&scan, env, &err), 0);
    ck_assert_int_eq(berth_mpi_program_read(&scan.objects, &program, &err), 0);
    open_stage();
    ck_assert_msg(berth_scan_names(&scan, twins, env, &err) == 0, "%s", err.text);
    ck_assert_msg(berth_replacement_plan(&replacement, &program, &scan, env, &err) == 0,
                  "%s", err.text);
    ck_assert_uint_eq(pairs->count, at + 2);
    ck_assert(berth_replacement_is_staged(&replacement, pairs->items[at + 1]) !=
              host_is_newer);
    ck_assert_ptr_nonnull(
        strstr(pairs->items[at], host_is_newer ? "/stage" : "/image"));
    ck_assert_ptr_nonnull(
        strstr(pairs->items[at + 1], host_is_newer ? "/image" : "/stage"));
    if (!unit_may_mount())
        return;
    try_mounts();
    ck_assert_int_eq(stat(pairs->items[at], &from), 0);
    ck_assert_int_eq(stat(pairs->items[at + 1], &over), 0);
    ck_assert_uint_eq(from.st_ino, over.st_ino);
    end_trial();
    ck_assert_int_eq(stat(pairs->items[at + 1], &over), 0);
    ck_assert_uint_ne(from.st_ino, over.st_ino);
}

void unit_prepare(TCase *tests)
{
    tcase_add_unchecked_fixture(tests, compile, clean);
    tcase_add_checked_fixture(tests, setup, teardown);
}
