/* SPDX-License-Identifier: Apache-2.0 */
/* The stage of a fabric over an image: libraries that are compiled here, in a mount
 * namespace of the test's own. Where it may not have one, only what is refused before
 * the mounts is seen. */

#include "bind/fabrics.h"

#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "step/channel.h"
#include "unit.h"

#define NET   "libberth-net.so.1"
#define OTHER "libberth-other.so.1"
#define UCS   "libucs.so.0" /* which opens plugins */

extern char **environ;

static char *directory;
static int ends[2];
static struct berth_err err;
static struct berth_scan scan;
static struct berth_mpi_program wants;
static struct berth_err note;
static struct berth_fabrics fabrics;

static void make_directory(const char *name)
{
    BERTH_FREE char *path = unit_path(directory, name);

    ck_assert_int_eq(mkdir(path, 0755), 0);
}

static void setup(void)
{
    directory = unit_directory();
    make_directory("image");
    make_directory("stage");
    make_directory("stage/lib");
    ck_assert_int_eq(berth_channel_open(ends, &err), 0);
}

static void teardown(void)
{
    for (int i = 0; i < fabrics.count; i++) {
        berth_replacement_undo(&fabrics.items[i]);
        berth_replacement_fini(&fabrics.items[i]);
    }
    berth_scan_fini(&scan);
    unit_remove(directory);
    free(directory);
}

/* The library SONAME in PLACE, with these functions, one letter each. */
static void compile(const char *place, const char *soname, const char *functions)
{
    BERTH_FREE char *source = NULL;
    size_t size;
    FILE *text = open_memstream(&source, &size);

    for (; *functions; functions++)
        fprintf(text, "int net_%c(void) { return 0; }\n", *functions);
    fclose(text);
    unit_compile(directory, source, "-shared -fPIC -Wl,-soname,%s -o %s/%s", soname,
                 place, soname);
}

/* A program that needs the functions of the image's library SONAME. */
static void compile_program(const char *soname, const char *functions)
{
    BERTH_FREE char *source = NULL;
    BERTH_FREE char *path = unit_path(directory, "app");
    size_t size;
    FILE *text = open_memstream(&source, &size);

    for (const char *it = functions; *it; it++)
        fprintf(text, "int net_%c(void);\n", *it);
    fputs("int _start(void) { return 0", text);
    for (const char *it = functions; *it; it++)
        fprintf(text, " + net_%c()", *it);
    fputs("; }\n", text);
    fclose(text);
    unit_compile(directory, source, "-Wl,-rpath,%s/image -Limage -l:%s -o app",
                 directory, soname);
    ck_assert_int_eq(berth_scan_program(NULL, path, environ, &scan, &err), 0);
}

static void write_manifest(const char *soname)
{
    BERTH_FREE char *path = unit_path(directory, "stage/manifest");
    BERTH_FREE char *answer = NULL;
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fprintf(file,
            "berth-stage\t5\nprofile\tnet\t1\nfrom\t/usr/lib/%s\nmounted\t/x\n"
            "file\tlib/%s\t%s\t1\nset\tNET_X\t1\nend\n",
            soname, soname, soname);
    fclose(file);
    ck_assert_int_gt(asprintf(&answer, "/host/stage\n%s/stage", directory), 0);
    ck_assert_int_eq(berth_channel_send(ends[0], BERTH_CHANNEL_STAGED, answer, &err),
                     0);
}

/* What the fabric adds; {NULL}: nothing. */
static const char *added[2];
static bool has_gpus;

/* Use the libraries of the profiles WORDS, of which the host has one that replaces
 * SONAME and OTHER, for the command `app WORD`. */
static int use_libraries(const char *words, const char *soname, const char *word)
{
    const char *const replaces[] = {soname, OTHER, NULL};
    const struct berth_profile profile = {.kind = BERTH_PROFILE_LIBRARIES,
                                          .name = "net",
                                          .stack = "net",
                                          .replaces = replaces};
    char *sonames[] = {(char *)soname, NULL};
    struct berth_stack items[] = {
        {.profile = &profile,
         .version = (char *)"net.so.1.2",
         .sonames = {.items = sonames, .count = 1}},
        {.profile = &profile, .sonames = {.items = sonames, .count = 1}}};
    const struct berth_stacks stacks = {0};
    const struct berth_stacks found = {.items = items,
                                       .count = strcmp(words, "twice") == 0 ? 2 : 1};
    const struct berth_request request = {
        .image = (char *)"/a", .libraries = (char *)(found.count == 2 ? "net" : words)};
    char *command[] = {(char *)"app", (char *)word, NULL};
    const struct berth_inside inside = {.request = &request,
                                        .command = command,
                                        .stacks = &stacks,
                                        .fabrics = &found,
                                        .channel = ends[1]};
    struct berth_fabrics *const programs[] = {&fabrics};

    fabrics.kind = BERTH_PROFILE_LIBRARIES;
    fabrics.scan = &scan;
    fabrics.wants = &wants;
    return berth_fabrics_use(&inside, programs, 1, &note, &err);
}

/* Use the fabric WORD, of which the host has COUNT, to replace SONAME. */
static int use(const char *word, const char *soname, size_t count)
{
    static const char *const variables[] = {"NET_PLUGIN=x", NULL};
    const char *const replaces[] = {soname, OTHER, NULL};
    const struct berth_profile profile = {.kind = BERTH_PROFILE_FABRIC,
                                          .name = "net",
                                          .stack = "net",
                                          .adds = *added ? added : NULL,
                                          .replaces = replaces,
                                          .environment = variables};
    static char *task[] = {(char *)"SLURM_JOB_ID=1", NULL, NULL};
    struct berth_stack stack = {.profile = &profile, .version = (char *)"net.so.1.2"};
    const struct berth_stacks stacks = {0};
    const struct berth_stacks found = {.items = &stack, .count = count};
    const struct berth_request request = {.image = (char *)"/a",
                                          .fabric = (char *)word};
    const struct berth_inside inside = {.request = &request,
                                        .task = task,
                                        .stacks = &stacks,
                                        .fabrics = &found,
                                        .channel = ends[1]};

    struct berth_fabrics *const programs[] = {&fabrics};

    task[1] = (char *)(has_gpus ? "SLURM_STEP_GPUS=0" : NULL);
    fabrics.scan = &scan;
    fabrics.wants = &wants;
    return berth_fabrics_use(&inside, programs, 1, &note, &err);
}

static bool may_mount(void)
{
    if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return false;
    return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

START_TEST(a_newer_one_runs_in_its_place)
{
    compile("image", NET, "ab");
    compile("stage/lib", NET, "abc");
    compile_program(NET, "a");
    write_manifest(NET);
    if (!may_mount())
        return;
    ck_assert_msg(use("net", NET, 1) == 0, "%s", err.text);
    ck_assert_int_eq(fabrics.count, 1);
    ck_assert_str_eq(note.text,
                     "the host's net.so.1.2 (net) runs under the image's own MPI");
    ck_assert_str_eq(fabrics.items[0].host, "/host/stage");
    ck_assert_str_eq(fabrics.items[0].set.items[0], "NET_X=1");
    ck_assert_str_eq(getenv("NET_X"), "1");
    ck_assert_uint_eq(fabrics.items[0].binds.count, 2);
    ck_assert_ptr_nonnull(strstr(fabrics.items[0].binds.items[0], "/stage/lib/" NET));
    ck_assert_ptr_nonnull(strstr(fabrics.items[0].binds.items[1], "/image/" NET));
}
END_TEST

/* A program that is not linked with it may open it later. */
START_TEST(an_image_without_it_is_left_alone)
{
    compile("image", NET, "a");
    compile_program(NET, "a");
    ck_assert_int_eq(use("auto", "libberth-none.so.1", 1), 0);
    ck_assert_int_eq(fabrics.count, 0);
    ck_assert_str_eq(note.text,
                     "the image has no library that a fabric of this host could stand "
                     "for (--container-fabric=auto)");
}
END_TEST

/* Its MPI may have one inside. */
START_TEST(a_program_with_mpi_has_one_where_it_is_required)
{
    compile("image", NET, "a");
    compile_program(NET, "a");
    ck_assert_int_eq(use("required", "libberth-none.so.1", 1), 0);
    wants.family = BERTH_FAMILY_MPICH;
    ck_assert_int_eq(use("required", "libberth-none.so.1", 1), -1);
    ck_assert_str_eq(err.text,
                     "--container-fabric=required: the image has no library that a "
                     "fabric of this host could stand for "
                     "(--container-fabric=required); with auto the step runs all the "
                     "same");
    wants.family = BERTH_FAMILY_NONE;
}
END_TEST

START_TEST(a_plugin_is_added_to_what_the_image_has)
{
    compile("image", NET, "a");
    compile("stage/lib", OTHER, "z");
    compile_program(NET, "a");
    added[0] = OTHER;
    ck_assert_int_eq(use("auto", "libberth-none.so.1", 1), 0);
    ck_assert_int_eq(fabrics.count, 0); /* the step has no GPUs */
    has_gpus = true;
    write_manifest(OTHER);
    ck_assert_msg(use("auto", "libberth-none.so.1", 1) == 0, "%s", err.text);
    ck_assert_int_eq(fabrics.count, 1);
    ck_assert_str_eq(fabrics.warning.text, "");
    ck_assert_str_eq(note.text, "the host's net.so.1.2 (net) is in the container");
    ck_assert_str_eq(getenv("NET_X"), "1");
    ck_assert_uint_eq(fabrics.items[0].binds.count, 0);
}
END_TEST

/* It works, and the host's may not be found. */
START_TEST(a_plugin_of_the_image_stays_but_by_name)
{
    BERTH_FREE char *own = unit_path(directory, "image");

    compile("image", NET, "a");
    compile_program(NET, "a");
    added[0] = OTHER;
    has_gpus = true;
    setenv("NET_PLUGIN", "ours", 1);
    ck_assert_int_eq(use("auto", "libberth-none.so.1", 1), 0);
    ck_assert_str_eq(note.text,
                     "the host's '" OTHER "' is left out: NET_PLUGIN is set");
    unsetenv("NET_PLUGIN");
    compile("image", OTHER, "z");
    setenv("LD_LIBRARY_PATH", own, 1);
    ck_assert_int_eq(use("required", "libberth-none.so.1", 1), 0);
    ck_assert_ptr_nonnull(strstr(note.text, "the image has its own, '"));
    compile("stage/lib", OTHER, "z");
    write_manifest(OTHER);
    ck_assert_msg(use("net", "libberth-none.so.1", 1) == 0, "%s", err.text);
    ck_assert_int_eq(fabrics.count, 1);
}
END_TEST

/* Nobody has judged whether the image's users of that can have the host's. */
START_TEST(a_plugin_does_not_replace_what_its_profile_does_not_name)
{
    compile("image", UCS, "a");
    compile("stage/lib", UCS, "a");
    compile_program(UCS, "a");
    added[0] = UCS;
    write_manifest(UCS);
    ck_assert_int_eq(use("net", "libberth-none.so.1", 1), -1);
    ck_assert_str_eq(err.text, "--container-fabric=net: the image has '" UCS
                               "', too, which profile 'net' does not name in "
                               "'replaces'; leave --container-fabric out");
}
END_TEST

START_TEST(one_that_nobody_needs_is_told)
{
    BERTH_FREE char *path = unit_path(directory, "image");

    compile("image", NET, "a");
    compile("image", OTHER, "z");
    compile("stage/lib", OTHER, "z");
    setenv("LD_LIBRARY_PATH", path, 1);
    compile_program(NET, "a");
    ck_assert_int_eq(use("auto", OTHER, 1), 0);
    ck_assert_int_eq(fabrics.count, 0);
    ck_assert_str_eq(fabrics.warning.text, "");
    write_manifest(OTHER);
    if (!may_mount())
        return;
    ck_assert_msg(use("net", OTHER, 1) == 0, "%s", err.text);
    ck_assert_int_eq(fabrics.count, 1);
    ck_assert_str_eq(fabrics.warning.text,
                     "neither the program nor a plugin of its MPI needs the image's "
                     "'" OTHER
                     "', for which the host's stands (--container-fabric=net)");
}
END_TEST

/* The reference BLAS has helpers that no other has; and the host's need not have each
 * library of the profile. */
START_TEST(libraries_are_judged_by_what_is_needed)
{
    compile("image", NET, "abcdef");
    compile("stage/lib", NET, "ax");
    compile_program(NET, "a");
    write_manifest(NET);
    if (!may_mount())
        return;
    ck_assert_msg(use_libraries("net", NET, "") == 0, "%s", err.text);
    ck_assert_int_eq(fabrics.count, 1);
    ck_assert_str_eq(fabrics.warning.text, "");
    ck_assert_str_eq(note.text,
                     "the host's net.so.1.2 (net) is in the place of the image's");
    ck_assert_ptr_nonnull(strstr(fabrics.items[0].binds.items[1], "/image/" NET));
}
END_TEST

START_TEST(libraries_that_lack_something_are_refused)
{
    compile("image", NET, "ab");
    compile("stage/lib", NET, "a");
    compile_program(NET, "b");
    write_manifest(NET);
    ck_assert_int_eq(use_libraries("net", NET, ""), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "--container-libraries=net: '"));
    ck_assert_ptr_nonnull(strstr(err.text,
                                 "/app' of the image needs net_b, which the host's "
                                 "net.so.1.2 lacks; leave --container-libraries out"));
}
END_TEST

/* A site may link the name to a library of a vendor, which has another SONAME. */
START_TEST(libraries_stand_under_the_names_of_their_files)
{
    BERTH_FREE char *from = unit_path(directory, "stage/lib/" NET);
    BERTH_FREE char *to = unit_path(directory, "stage/lib/libvendor.so.2");

    compile("image", NET, "a");
    compile("stage/lib", "libvendor.so.2", "a");
    ck_assert_int_eq(symlink("libvendor.so.2", from), 0);
    compile_program(NET, "a");
    write_manifest("libvendor.so.2");
    if (!may_mount())
        return;
    ck_assert_msg(use_libraries("net", NET, "") == 0, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(fabrics.items[0].binds.items[0], "/stage/lib/" NET));
    ck_assert_int_eq(fabrics.count, 1);
}
END_TEST

/* As ScaLAPACK, whose MPI is not to be another one than the program's. */
START_TEST(libraries_that_need_an_mpi_are_for_the_host_s)
{
    compile("image", NET, "a");
    compile_program(NET, "a");
    unit_compile(
        directory,
        "int net_a(void) { return 0; } int MPI_Init(void) { return 0; } "
        "int PMPI_Init(void) { return 0; } int MPIR_Dup_fn(void) { return 0; }",
        "-shared -fPIC -Wl,-soname,%s -o stage/lib/%s", NET, NET);
    write_manifest(NET);
    ck_assert_int_eq(use_libraries("net", NET, ""), -1);
    ck_assert_str_eq(err.text, "--container-libraries=net: the host's net.so.1.2 needs "
                               "'" NET "', and the host's MPI does not run; choose "
                               "--mpi-bind=host, or leave --container-libraries out");
    fabrics.has_host = true;
    wants.family = BERTH_FAMILY_OPENMPI;
    write_manifest(NET);
    ck_assert_int_eq(use_libraries("net", NET, ""), -1);
    ck_assert_str_eq(err.text, "--container-libraries=net: the host's net.so.1.2 needs "
                               "'" NET "', and the program wants Open MPI; leave "
                               "--container-libraries out");
    fabrics.has_host = false;
    wants.family = BERTH_FAMILY_NONE;
}
END_TEST

/* The program is one that starts others. */
START_TEST(a_program_among_the_words_counts)
{
    BERTH_FREE char *path = unit_path(directory, "app");
    BERTH_FREE char *own = unit_path(directory, "image");
    BERTH_FREE char *word = NULL;

    compile("image", NET, "ab");
    compile("image", "libberth-none.so.1", "c");
    compile("stage/lib", NET, "a");
    compile_program(NET, "b");
    ck_assert_int_gt(asprintf(&word, "exec %s -x; true", path), 0);
    berth_scan_fini(&scan);
    unit_compile(directory, "int net_c(void); int _start(void) { return net_c(); }",
                 "-Wl,-rpath,%s -Limage -l:libberth-none.so.1 -o sh", own);
    free(path);
    path = unit_path(directory, "sh");
    ck_assert_int_eq(berth_scan_program(NULL, path, environ, &scan, &err), 0);
    setenv("LD_LIBRARY_PATH", own, 1);
    write_manifest(NET);
    ck_assert_int_eq(use_libraries("net", NET, word), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "/app' of the image needs net_b, which"));
}
END_TEST

START_TEST(libraries_that_the_host_lacks_or_has_twice_are_refused)
{
    compile("image", NET, "a");
    compile_program(NET, "a");
    ck_assert_int_eq(use_libraries("net,mkl", NET, ""), -1);
    ck_assert_str_eq(err.text, "--container-libraries=mkl: this host has no such "
                               "libraries; see `berth profiles`");
    ck_assert_int_eq(use_libraries("twice", NET, ""), -1);
    ck_assert_str_eq(err.text, "--container-libraries: 'net' and 'net' both stand for "
                               "'" NET "'; name one of them");
}
END_TEST

START_TEST(libraries_that_nobody_is_known_to_need_are_told)
{
    BERTH_FREE char *own = unit_path(directory, "image");

    compile("image", NET, "a");
    compile("image", UCS, "a");
    compile("stage/lib", UCS, "a");
    compile_program(NET, "a");
    setenv("LD_LIBRARY_PATH", own, 1);
    write_manifest(UCS);
    make_directory("stage/lib/ucx");
    if (!may_mount())
        return;
    ck_assert_msg(use_libraries("net", UCS, "") == 0, "%s", err.text);
    ck_assert_str_eq(fabrics.warning.text,
                     "neither the program nor what it is known to load later needs "
                     "the image's '" UCS
                     "', for which the host's stands (--container-libraries=net)");
}
END_TEST

static const struct {
    const char *word;
    const char *soname;
    size_t count; /* of the host's */
    const char *image, *staged, *needed;
    const char *error[2]; /* parts of it */
} refused[] = {
    {"gni",
     NET,
     0,
     "a",
     "a",
     "a",
     {"--container-fabric=gni: this host has no such fabric; see `berth profiles`"}},
    {"net",
     "libberth-none.so.1",
     1,
     NULL,
     "a",
     "a",
     {"--container-fabric=net: the image has no 'libberth-none.so.1' that the host's "
      "could stand for; leave --container-fabric out"}},
    {"net",
     NET,
     1,
     "abc",
     "abd",
     "c",
     {"/app' of the image needs net_c, which the host's net.so.1.2 lacks; leave "
      "--container-fabric out"}},
    {"net",
     NET,
     1,
     "abcd",
     "abe",
     "a",
     {"--container-fabric=net: the host's net.so.1.2 is older than the image's: it "
      "lacks 2 symbols of that, and has 1 others; leave --container-fabric out"}},
    {"required",
     NET,
     1,
     "abcd",
     "abe",
     "a",
     {"--container-fabric=required: the image's own '" NET "' stays: the host's "
      "net.so.1.2 is older than the image's: it lacks 2 symbols of that, and has 1 "
      "others; with auto the step runs all the same"}},
    {"net",
     UCS,
     1,
     "a",
     "ab",
     "a",
     {"the host's net.so.1.2 has no plugins, and would load those of the image in '",
      "/image/ucx'; leave --container-fabric out"}},
};

START_TEST(what_does_not_fit_is_named)
{
    bool has_own = refused[_i].image;

    make_directory("image/ucx");
    compile("image", has_own ? refused[_i].soname : NET,
            has_own ? refused[_i].image : "a");
    compile("stage/lib", refused[_i].soname, refused[_i].staged);
    compile_program(has_own ? refused[_i].soname : NET, refused[_i].needed);
    write_manifest(refused[_i].soname);
    ck_assert_int_eq(use(refused[_i].word, refused[_i].soname, refused[_i].count), -1);
    for (int i = 0; i < 2 && refused[_i].error[i]; i++)
        ck_assert_msg(strstr(err.text, refused[_i].error[i]), "%s", err.text);
    ck_assert_int_eq(fabrics.count, 0);
}
END_TEST

/* One of two that are built together. */
START_TEST(what_the_host_does_not_have_is_named)
{
    BERTH_FREE char *path = unit_path(directory, "image");

    compile("image", NET, "a");
    compile("image", OTHER, "z");
    compile("stage/lib", NET, "azb");
    setenv("LD_LIBRARY_PATH", path, 1);
    compile_program(NET, "a");
    write_manifest(NET);
    ck_assert_int_eq(use("net", NET, 1), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "the image has '"));
    ck_assert_ptr_nonnull(strstr(
        err.text, "/image/" OTHER "', and the host does not; leave --container-fabric "
                  "out"));
}
END_TEST

START_TEST(the_image_s_own_stays_where_nobody_has_named_one)
{
    compile("image", NET, "abcd");
    compile("stage/lib", NET, "abe");
    compile_program(NET, "a");
    write_manifest(NET);
    ck_assert_int_eq(use("auto", NET, 1), 0);
    ck_assert_int_eq(fabrics.count, 0);
    ck_assert_str_eq(note.text,
                     "the image's own '" NET "' stays: the host's net.so.1.2 is older "
                     "than the image's: it lacks 2 symbols of that, and has 1 others");
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("fabrics");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_newer_one_runs_in_its_place);
    tcase_add_test(tests, an_image_without_it_is_left_alone);
    tcase_add_test(tests, a_program_with_mpi_has_one_where_it_is_required);
    tcase_add_test(tests, a_plugin_is_added_to_what_the_image_has);
    tcase_add_test(tests, a_plugin_of_the_image_stays_but_by_name);
    tcase_add_test(tests, a_plugin_does_not_replace_what_its_profile_does_not_name);
    tcase_add_test(tests, one_that_nobody_needs_is_told);
    tcase_add_loop_test(tests, what_does_not_fit_is_named, 0, COUNT(refused));
    tcase_add_test(tests, what_the_host_does_not_have_is_named);
    tcase_add_test(tests, the_image_s_own_stays_where_nobody_has_named_one);
    tcase_add_test(tests, libraries_are_judged_by_what_is_needed);
    tcase_add_test(tests, libraries_that_lack_something_are_refused);
    tcase_add_test(tests, libraries_stand_under_the_names_of_their_files);
    tcase_add_test(tests, libraries_that_need_an_mpi_are_for_the_host_s);
    tcase_add_test(tests, a_program_among_the_words_counts);
    tcase_add_test(tests, libraries_that_the_host_lacks_or_has_twice_are_refused);
    tcase_add_test(tests, libraries_that_nobody_is_known_to_need_are_told);
    return unit_run("fabrics", tests);
}
