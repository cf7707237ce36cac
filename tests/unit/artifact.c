/* SPDX-License-Identifier: Apache-2.0 */
/* The stage of an artifact: links in the place of copies, and what an artifact must be
 * like. */

#include "stage/artifact.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "bind/lacking.h"
#include "bind/parent.h"
#include "discover/loader.h"
#include "install.h"
#include "objects.h"
#include "staging.h"
#include "unit.h"

static struct berth_profile profiles[2];
static char *prefix; /* DIRECTORY/host, the artifact */

/* Runs COMMAND in HOST, in which @ is DIRECTORY. */
static void run(const char *command)
{
    BERTH_FREE char *filled = unit_fill(command, directory);
    BERTH_FREE char *text = NULL;

    ck_assert_int_gt(asprintf(&text, "cd '%s' && %s", host, filled), 0);
    ck_assert_msg(system(text) == 0, "%s", text);
}

#define SET_PATHS                                                                      \
    "patchelf --force-rpath --set-rpath @/host/lib libmpi.so.12 libmpifort.so.12 "     \
    "libucs.so.0 libdep.so.1 ucx/libuct_one.so.0 && "                                  \
    "patchelf --force-rpath --set-rpath @/host/lib/ucx ucx/libuct_two.so.0"

static void find(void)
{
    profiles[0] = (struct berth_profile){.name = "net",
                                         .stack = "net",
                                         .family = BERTH_FAMILY_MPICH,
                                         .artifact = prefix,
                                         .prefix = prefix};
    staging_find_profile(profiles, "/none");
}

static void set_up(void)
{
    staging_setup();
    prefix = unit_path(directory, "host");
    staging_install();
    run(SET_PATHS);
    find();
}

static void tear_down(void)
{
    staging_teardown();
    free(prefix);
}

/* The libraries that are opened by name are those of the artifact. */
START_TEST(a_name_is_looked_for_in_the_artifact)
{
    static const char *const names[] = {"libdep.so.1", "libm.so.6", "libz.so.1", NULL};
    struct berth_gathered gathered;
    struct berth_err err;
    bool found = false;

    profiles[0].names = names;
    ck_assert_msg(berth_gather(stack, &gathered, &err) == 0, "%s", err.text);
    for (size_t i = 0; i < gathered.count; i++) {
        ck_assert(berth_artifact_allows(stack, gathered.files[i].source));
        found |= strcmp(gathered.files[i].file, "lib/libdep.so.1") == 0;
    }
    ck_assert(found);
    berth_gathered_fini(&gathered);
}
END_TEST

START_TEST(a_stage_of_an_artifact_has_links)
{
    BERTH_FREE char *told = NULL;
    BERTH_FREE char *link = NULL;
    BERTH_FREE char *target = unit_path(host, "libucs.so.0");
    struct berth_staged staged = staging_make();
    struct berth_staged again;
    char text[256] = "";

    told = staging_tell(&staged);
    ck_assert_ptr_eq(strstr(told, "lib/libmpi.so.12\nlib/libucs.so.0\n"), told);
    ck_assert_ptr_nonnull(strstr(told, "\nlib/ucx/libuct_one.so\nlib/libdep.so.1\n"));
    ck_assert_ptr_nonnull(
        strstr(told, "\nmpi/libmpich.so.12 -> ../lib/libmpi.so.12\n"));
    ck_assert_ptr_nonnull(strstr(told, "\nUCX_MODULE_DIR=@/lib/ucx\n"));
    ck_assert_ptr_null(strstr(told, "libberth-mark"));
    ck_assert_str_eq(staged.manifest.artifact, prefix);
    link = unit_path(staged.path, "lib/libucs.so.0");
    ck_assert_int_gt(readlink(link, text, sizeof(text) - 1), 0);
    ck_assert_str_eq(text, target);
    ck_assert_int_eq(staging_find(&again), 1);
    ck_assert_str_eq(again.path, staged.path);
    berth_staged_fini(&again);
    berth_staged_fini(&staged);
}
END_TEST

/* The C library of the node is not for an image: only the artifact's own is. */
START_TEST(glibc_is_staged_where_the_artifact_has_it)
{
    struct berth_staged staged = staging_make();

    for (size_t i = 0; i < staged.manifest.file_count; i++)
        ck_assert_int_ne(strncmp(staged.manifest.files[i].file, "glibc/", 6), 0);
    berth_staged_fini(&staged);
    run("mkdir ../glibc && cp \"$(cc -print-file-name=libc.so.6)\" ../glibc && "
        "cp ../glibc/libc.so.6 ../glibc/libm.so.6");
    run("touch libmpi.so.12"); /* a new stage */
    staged = staging_make();
    ck_assert_str_eq(staged.manifest.files[staged.manifest.file_count - 2].file,
                     "glibc/libc.so.6");
    ck_assert_str_eq(staged.manifest.files[staged.manifest.file_count - 1].file,
                     "glibc/libm.so.6");
    berth_staged_fini(&staged);
}
END_TEST

/* Each command makes a valid stage invalid. */
static const char *const changes[] = {
    "chmod 1777 ucx",
    "chmod g+w libucs.so.0",
    "chmod o+w ucx",
    "touch ucx/libuct_new.so.0",
    "touch -d 2001-01-01 libdep.so.1",
    "rm libdep.so.1",
};

START_TEST(a_change_is_seen)
{
    struct berth_staged staged = staging_make();

    berth_staged_fini(&staged);
    ck_assert_int_eq(staging_find(&staged), 1);
    berth_staged_fini(&staged);
    run(changes[_i]);
    ck_assert_int_eq(staging_find(&staged), 0);
}
END_TEST

static const struct {
    const char *command;
    const char *sentence;
} faults[] = {
    {"chmod 664 libucs.so.0",
     "@/host: 'lib/libucs.so.0' can be written by others (mode 0664); chmod go-w"},
    {"chmod 757 ucx",
     "@/host: 'lib/ucx' can be written by others (mode 0757); chmod go-w"},
    {"chmod 1777 ucx",
     "@/host: 'lib/ucx' can be written by others (mode 0777); chmod go-w"},
    {"patchelf --set-rpath '$ORIGIN' libmpi.so.12",
     "'@/host/lib/libmpi.so.12': searches 'libucs.so.0' in '$ORIGIN', and not by an "
     "absolute path in '@/host'; set its search path with patchelf, or write prefix in "
     "the place of artifact, and berth copies it"},
    {"patchelf --remove-rpath libmpi.so.12",
     "'@/host/lib/libmpi.so.12': searches 'libucs.so.0' in '', and not by an absolute "
     "path in '@/host'; set its search path with patchelf, or write prefix in the "
     "place of artifact, and berth copies it"},
    {"patchelf --force-rpath --set-rpath /none:@/host/lib libmpi.so.12",
     "'@/host/lib/libmpi.so.12': searches the directory '/none', which is not in "
     "'@/host'; set its search path with patchelf, or write prefix in the place of "
     "artifact, and berth copies it"},
    {"patchelf --set-rpath @/host/lib: libmpi.so.12",
     "'@/host/lib/libmpi.so.12': searches the directory '', which is not in '@/host'; "
     "set its search path with patchelf, or write prefix in the place of artifact, and "
     "berth copies it"},
    {"patchelf --set-rpath @/host/lib:@/host/lib/../../user libmpi.so.12",
     "'@/host/lib/libmpi.so.12': searches the directory '@/host/lib/../../user', which "
     "is not in '@/host'; set its search path with patchelf, or write prefix in the "
     "place of artifact, and berth copies it"},
    {"mv libmpifort.so.12 ../.. && ln -s ../../libmpifort.so.12 .",
     "'@/host/lib/libmpifort.so.12': is a link that leads out of '@/host'"},
};

START_TEST(a_fault_names_the_file)
{
    BERTH_FREE char *expected = unit_fill(faults[_i].sentence, directory);
    struct berth_staged staged;
    struct berth_err err;

    run(faults[_i].command);
    find();
    ck_assert_int_eq(berth_stage_make(stack, &root, 0, &staged, &err), -1);
    ck_assert_str_eq(err.text, expected);
    ck_assert_int_eq(berth_stage_check(stack, &err), -1);
    ck_assert_ptr_eq(strstr(err.text, "profile 'net': "), err.text);
}
END_TEST

START_TEST(a_file_of_another_user_is_refused)
{
    BERTH_FREE char *why = NULL;

    if (geteuid() != 0)
        return;
    run("chown 12345 libdep.so.1");
    why = staging_refusal();
    ck_assert_str_eq(why, "@/host: 'lib/libdep.so.1' belongs to user 12345, who could "
                          "change it; expected root as the owner");
}
END_TEST

START_TEST(a_library_for_another_machine_is_refused)
{
    struct berth_gathered_file file = {.patched = true, .file = (char *)"lib/liba.so"};
    struct berth_gathered gathered = {.files = &file, .count = 1};
    BERTH_FREE char *expected = NULL;
    struct berth_err err;

    file.source = unit_path(host, "libdep.so.1");
    run("printf '\\267' | dd of=libdep.so.1 bs=1 seek=18 conv=notrunc 2>/dev/null");
#ifdef __x86_64__
    expected = unit_fill("'@/host/lib/libdep.so.1': is for aarch64, and this machine "
                         "is x86_64",
                         directory);
    ck_assert_int_eq(berth_artifact_check(stack, &gathered, &err), -1);
    ck_assert_str_eq(err.text, expected);
#endif
    (void)err;
    berth_strvec_fini(&gathered.directories);
    free(file.source);
}
END_TEST

/* For the runtime that starts each task's container. */
START_TEST(a_file_of_an_artifact_is_at_one_place)
{
    struct berth_replacement replacement = {.stack = stack,
                                            .mounted = (char *)"/.berth/user/net-1",
                                            .host = (char *)"/tmp/berth-1/net-1"};
    const struct berth_mpi_reach reach = {0};
    BERTH_BINDING struct berth_binding binding = {0};
    BERTH_FREE char *told = NULL;

    berth_strvec_push(&replacement.binds, "/.berth/user/net-1/lib/ucx");
    berth_strvec_push(&replacement.binds, "/usr/lib/ucx");
    berth_strvec_push(&replacement.binds, "/shared/1.0/lib/libucp.so.0");
    berth_strvec_push(&replacement.binds, "/usr/lib/libucp.so.0");
    berth_parent_put(&replacement, &reach, &binding);
    told = unit_lines(&binding.binds);
    ck_assert_str_eq(told, "/tmp/berth-1/net-1/lib/ucx\n/usr/lib/ucx\n"
                           "/shared/1.0/lib/libucp.so.0\n/usr/lib/libucp.so.0\n");
    berth_strvec_fini(&replacement.binds);
}
END_TEST

static char *const bare[] = {NULL};

/* As in a container whose image has the libraries of this host. */
START_TEST(what_is_nowhere_is_named)
{
    struct berth_replacement replacement = {0};
    struct berth_scan scan = {0};
    BERTH_FREE char *program = NULL;
    BERTH_FREE char *path = unit_path(host, "libmpi.so.12");
    struct berth_err err;

    replacement.manifest.artifact = prefix;
    ck_assert_int_eq(berth_loader_self(&scan.loader, &program, &err), 0);
    ck_assert_int_eq(
        berth_scan_add(NULL, &replacement.staged, BERTH_ROLE_LOADED, NULL, path, &err),
        0);
    ck_assert_int_eq(berth_lacking_check(&replacement, &scan, bare, "wait", &err), 0);
    run("rm libucs.so.0");
    ck_assert_int_eq(berth_lacking_check(&replacement, &scan, bare, "wait", &err), -1);
    free(path);
    path = NULL;
    ck_assert_int_gt(asprintf(&path,
                              "'libmpi.so.12' needs 'libucs.so.0', which is neither in "
                              "the artifact '%s' nor in the image; build the artifact "
                              "with it, or wait",
                              prefix),
                     0);
    ck_assert_str_eq(err.text, path);
    berth_mpi_objects_fini(&replacement.staged);
    free(scan.loader);
}
END_TEST

#define IMAGE                                                                          \
    "loaded /lib/libc.so.6 library so=libc.so.6 vdef=GLIBC_2.2.5 vdef=GLIBC_2.36"
#define NEW "loaded /a/libx.so.1 library so=libx.so.1 ver=libc.so.6:GLIBC_2.38"
#define OLD "loaded /a/libx.so.1 library so=libx.so.1 ver=libc.so.6:GLIBC_2.2.5"

START_TEST(a_c_library_that_is_too_old_is_named)
{
    struct berth_replacement replacement = {0};
    struct berth_scan scan = {0};
    struct berth_err err;

    replacement.manifest.artifact = (char *)"/a";
    unit_object(&scan.objects, IMAGE);
    unit_object(&replacement.staged, OLD);
    ck_assert_int_eq(berth_lacking_check_glibc(&replacement, &scan, "wait", &err), 0);
    berth_mpi_objects_fini(&replacement.staged);
    unit_object(&replacement.staged, NEW);
    ck_assert_int_eq(berth_lacking_check_glibc(&replacement, &scan, "wait", &err), -1);
    ck_assert_str_eq(err.text,
                     "'libx.so.1' of the artifact '/a' needs GLIBC_2.38, which the "
                     "image's C library (GLIBC_2.36) lacks, and the artifact brings "
                     "none in 'glibc'; build it on an older distribution, or wait");
    berth_mpi_objects_fini(&replacement.staged);
    berth_mpi_objects_fini(&scan.objects);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("artifact");

    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, staging_compile, staging_remove);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_stage_of_an_artifact_has_links);
    tcase_add_test(tests, a_name_is_looked_for_in_the_artifact);
    tcase_add_test(tests, glibc_is_staged_where_the_artifact_has_it);
    tcase_add_loop_test(tests, a_change_is_seen, 0, COUNT(changes));
    tcase_add_loop_test(tests, a_fault_names_the_file, 0, COUNT(faults));
    tcase_add_test(tests, a_file_of_another_user_is_refused);
    tcase_add_test(tests, a_library_for_another_machine_is_refused);
    tcase_add_test(tests, a_file_of_an_artifact_is_at_one_place);
    tcase_add_test(tests, what_is_nowhere_is_named);
    tcase_add_test(tests, a_c_library_that_is_too_old_is_named);
    return unit_run("artifact", tests);
}
