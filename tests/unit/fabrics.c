/* SPDX-License-Identifier: Apache-2.0 */
/* The stage of a fabric over an image. */

#include "bindover/hostlibs.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "sides.h"
#include "unit.h"

/* What the fabric adds; {NULL}: nothing. */
static const char *added[2];
static bool has_gpus;

/* The nodes of the step, and the place of a profile that this one lacks, its prefix and
 * what it replaces; NULL: the same as the other profile. */
static unsigned int nodes = 1;
static enum { NOWHERE, FIRST, LAST } absent;
static const char *prefix = "/srv/net";
static const char *lacking;

/* Use the fabric WORD, of which the host has COUNT, to replace SONAME. */
static int use(const char *word, const char *soname, size_t count)
{
    static const char *const variables[] = {"NET_PLUGIN=x", NULL};
    const char *const replaces[] = {soname, lacking ? NULL : OTHER, NULL};
    const char *const lacks[] = {lacking ? lacking : soname, OTHER, NULL};
    const struct berth_profile site = {.kind = BERTH_PROFILE_FABRIC,
                                       .name = "site",
                                       .stack = "site",
                                       .prefix = prefix,
                                       .adds = *added ? added : NULL,
                                       .replaces = lacks,
                                       .environment = variables};
    const struct berth_profile profile = {.kind = BERTH_PROFILE_FABRIC,
                                          .name = "net",
                                          .stack = "net",
                                          .adds = *added ? added : NULL,
                                          .replaces = replaces,
                                          .environment = variables};
    static char *task[] = {(char *)"SLURM_JOB_ID=1", NULL, NULL};
    const struct berth_stack none = {.profile = &site};
    const struct berth_stack there = {.profile = &profile,
                                      .version = (char *)"net.so.1.2"};
    struct berth_stack all[] = {absent == FIRST ? none : there,
                                absent == FIRST ? there : none};
    const struct berth_stacks found = {.items = all,
                                       .count = count + (absent != NOWHERE)};
    const struct berth_request request = {.image = (char *)"/a", .libs = (char *)word};
    const struct berth_decide inside = {.request = &request,
                                        .task = task,
                                        .stacks = &found,
                                        .reach = {.nodes = nodes},
                                        .channel = sides.ends[1]};

    task[1] = (char *)(has_gpus ? "SLURM_STEP_GPUS=0" : NULL);
    return sides_use(&inside, BERTH_PROFILE_FABRIC);
}

TEST(a_newer_one_runs_in_its_place)
{
    sides_have("ab", "abc", "a");
    if (!unit_may_mount())
        return;
    ck_assert_msg(use("net", NET, 1) == 0, "%s", sides.err.text);
    ck_assert_int_eq(sides.program.count, 1);
    ck_assert_str_eq(sides.programs.binding.note,
                     "the host's net.so.1.2 (net) runs under the image's own MPI");
    ck_assert_str_eq(sides.program.items[0].host, "/host/stage");
    ck_assert_str_eq(sides.program.items[0].set.items[0], "NET_X=1");
    ck_assert_str_eq(getenv("NET_X"), "1");
    ck_assert_uint_eq(sides.program.items[0].binds.count, 2);
    ck_assert_ptr_nonnull(
        strstr(sides.program.items[0].binds.items[0], "/stage/lib/" NET));
    ck_assert_ptr_nonnull(strstr(sides.program.items[0].binds.items[1], "/image/" NET));
}

/* A program that is not linked with it may open it later. */
TEST(an_image_without_it_is_left_alone)
{
    sides_have("a", NULL, "a");
    ck_assert_int_eq(use("auto", "libberth-none.so.1", 1), 0);
    ck_assert_int_eq(sides.program.count, 0);
    ck_assert_str_eq(sides.programs.binding.note,
                     "the image has no library that a fabric of this host could "
                     "replace (--container-libs=auto)");
}

TEST(a_plugin_is_added_to_what_the_image_has)
{
    sides_compile("image", NET, "a");
    sides_compile("stage/lib", OTHER, "z");
    sides_compile_program(NET, "a");
    added[0] = OTHER;
    ck_assert_int_eq(use("auto", "libberth-none.so.1", 1), 0);
    ck_assert_int_eq(sides.program.count, 0); /* the step has no GPUs */
    has_gpus = true;
    sides_write_manifest(OTHER);
    if (!unit_may_mount())
        return;
    ck_assert_msg(use("auto", "libberth-none.so.1", 1) == 0, "%s", sides.err.text);
    ck_assert_int_eq(sides.program.count, 1);
    ck_assert_ptr_null(sides.programs.binding.warning);
    ck_assert_str_eq(sides.programs.binding.note,
                     "the host's net.so.1.2 (net) is in the container");
    ck_assert_str_eq(getenv("NET_X"), "1");
    ck_assert_uint_eq(sides.program.items[0].binds.count, 0);
}

/* It works, and the host's may not be found. */
TEST(a_plugin_of_the_image_stays_but_by_name)
{
    BERTH_FREE char *own = unit_path(sides.directory, "image");

    sides_have("a", NULL, "a");
    added[0] = OTHER;
    has_gpus = true;
    setenv("NET_PLUGIN", "ours", 1);
    ck_assert_int_eq(use("auto", "libberth-none.so.1", 1), 0);
    ck_assert_str_eq(sides.programs.binding.note,
                     "the host's '" OTHER
                     "' is left out: the program has its own, 'NET_PLUGIN'");
    unsetenv("NET_PLUGIN");
    sides_compile("image", OTHER, "z");
    setenv("LD_LIBRARY_PATH", own, 1);
    ck_assert_int_eq(use("auto", "libberth-none.so.1", 1), 0);
    ck_assert_ptr_nonnull(
        strstr(sides.programs.binding.note, "the program has its own, '"));
    sides_compile("stage/lib", OTHER, "z");
    sides_write_manifest(OTHER);
    if (!unit_may_mount())
        return;
    ck_assert_msg(use("net", "libberth-none.so.1", 1) == 0, "%s", sides.err.text);
    ck_assert_int_eq(sides.program.count, 1);
}

/* Nobody has judged whether the image's users of that can have the host's. */
TEST(a_plugin_does_not_replace_what_its_profile_does_not_name)
{
    sides_compile("image", UCS, "a");
    sides_compile("stage/lib", UCS, "a");
    sides_compile_program(UCS, "a");
    added[0] = UCS;
    sides_write_manifest(UCS);
    ck_assert_int_eq(use("net", "libberth-none.so.1", 1), -1);
    ck_assert_str_eq(sides.err.text, "--container-libs=net: the image has '" UCS
                                     "', too, which profile 'net' does not name in "
                                     "'replaces'; leave --container-libs out");
}

TEST(one_that_nobody_needs_is_told)
{
    BERTH_FREE char *path = unit_path(sides.directory, "image");

    sides_compile("image", NET, "a");
    sides_compile("image", OTHER, "z");
    sides_compile("stage/lib", OTHER, "z");
    setenv("LD_LIBRARY_PATH", path, 1);
    sides_compile_program(NET, "a");
    ck_assert_int_eq(use("auto", OTHER, 1), 0);
    ck_assert_int_eq(sides.program.count, 0);
    ck_assert_ptr_null(sides.programs.binding.warning);
    sides_write_manifest(OTHER);
    if (!unit_may_mount())
        return;
    ck_assert_msg(use("net", OTHER, 1) == 0, "%s", sides.err.text);
    ck_assert_int_eq(sides.program.count, 1);
    ck_assert_str_eq(sides.programs.binding.warning,
                     "no program of this step is known to need '" OTHER
                     "' of the image, "
                     "which the host's replaces (--container-libs=net)");
}

static const struct {
    const char *soname;
    const char *image, *staged, *needed;
    const char *error, *end; /* parts of it */
} refused[] = {
    {"libberth-none.so.1", NULL, "a", "a",
     "--container-libs=net: the image has no 'libberth-none.so.1' that the host's "
     "could replace; leave --container-libs out",
     ""},
    {NET, "abc", "abd", "c",
     "/app' of the image needs net_c, which the host's net.so.1.2 lacks; leave "
     "--container-libs out",
     ""},
    {NET, "abcd", "abe", "a",
     "--container-libs=net: the host's net.so.1.2 is older than the image's: it "
     "lacks 2 symbols of that, and has 1 others; leave --container-libs out",
     ""},
    {UCS, "a", "ab", "a",
     "the host's net.so.1.2 has no plugins, and would load those of the image in '",
     "/image/ucx'; leave --container-libs out"},
};

TEST_ROWS(what_does_not_fit_is_named, refused)
{
    bool has_own = refused[_i].image;

    sides_make_directory("image/ucx");
    sides_compile("image", has_own ? refused[_i].soname : NET,
                  has_own ? refused[_i].image : "a");
    sides_compile("stage/lib", refused[_i].soname, refused[_i].staged);
    sides_compile_program(has_own ? refused[_i].soname : NET, refused[_i].needed);
    sides_write_manifest(refused[_i].soname);
    if (!unit_may_mount())
        return;
    ck_assert_int_eq(use("net", refused[_i].soname, 1), -1);
    ck_assert_ptr_nonnull(strstr(sides.err.text, refused[_i].error));
    ck_assert_ptr_nonnull(strstr(sides.err.text, refused[_i].end));
    ck_assert_int_eq(sides.program.count, 0);
}

/* One of two that are built together. */
TEST(what_the_host_does_not_have_is_named)
{
    BERTH_FREE char *path = unit_path(sides.directory, "image");

    sides_compile("image", NET, "a");
    sides_compile("image", OTHER, "z");
    sides_compile("stage/lib", NET, "azb");
    setenv("LD_LIBRARY_PATH", path, 1);
    sides_compile_program(NET, "a");
    sides_write_manifest(NET);
    ck_assert_int_eq(use("net", NET, 1), -1);
    ck_assert_ptr_nonnull(strstr(sides.err.text, "the image has '"));
    ck_assert_ptr_nonnull(strstr(sides.err.text,
                                 "/image/" OTHER
                                 "', and the host does not; leave --container-libs "
                                 "out"));
}

TEST(the_image_s_own_stays_where_nobody_has_named_one)
{
    sides_have("abcd", "abe", "a");
    ck_assert_int_eq(use("auto", NET, 1), 0);
    ck_assert_int_eq(sides.program.count, 0);
    ck_assert_str_eq(sides.programs.binding.note,
                     "the image's own '" NET "' stays: the host's net.so.1.2 is older "
                     "than the image's: it lacks 2 symbols of that, and has 1 others");
}

/* With several nodes only the image may choose its own. */
TEST(a_node_does_not_choose_another_network)
{
    sides_have("abcd", "abe", "a");
    nodes = 2;
    ck_assert_int_eq(use("auto", NET, 1), -1);
    ck_assert_ptr_nonnull(strstr(sides.err.text, "it lacks 2 symbols of that, and has "
                                                 "1 others; all nodes need the"));
    absent = FIRST;
    ck_assert_int_eq(use("auto", NET, 1), -1);
    ck_assert_ptr_nonnull(strstr(sides.err.text,
                                 "profile 'site': this node has no such library in "
                                 "'/srv/net'; have it mounted here, or name a profile "
                                 "that all nodes have; all nodes need the same "
                                 "network libraries: "));
    ck_assert_int_eq(use("auto", "another.so.1", 1), 0); /* the image has none */
}

/* One for each of two partitions: the other's comes later, and is not missed. */
TEST(an_absent_one_that_comes_later_is_not_missed)
{
    sides_have("ab", "abc", "a");
    if (!unit_may_mount())
        return;
    nodes = 2;
    absent = LAST;
    ck_assert_msg(use("auto", NET, 1) == 0, "%s", sides.err.text);
    ck_assert_int_eq(sides.program.count, 1);
}

/* A host need not have both UCX and libfabric, but one without any is not as others. */
TEST(a_node_without_any_network_library_is_refused)
{
    sides_have("a", NULL, "a");
    nodes = 2;
    absent = FIRST;
    prefix = NULL;
    ck_assert_int_eq(use("auto", NET, 0), -1);
    ck_assert_ptr_nonnull(strstr(sides.err.text,
                                 "this node has no '" NET "'; all nodes need the same "
                                 "network libraries: "));
    ck_assert_int_eq(use("auto", "another.so.1", 0), 0); /* the image has none */
}

TEST(of_two_network_libraries_a_node_may_lack_one)
{
    sides_compile("image", NET, "ab");
    sides_compile("image", OTHER, "z");
    sides_compile("stage/lib", NET, "abc");
    sides_compile_program(NET " -l:" OTHER, "az");
    sides_write_manifest(NET);
    nodes = 2;
    prefix = NULL;
    lacking = OTHER;
    absent = FIRST;
    ck_assert_int_eq(use("auto", NET, 0), -1);
    absent = LAST;
    if (!unit_may_mount())
        return;
    ck_assert_msg(use("auto", NET, 1) == 0, "%s", sides.err.text);
    ck_assert_int_eq(sides.program.count, 1);
}

/* Its own plugin is the image's on all nodes. */
TEST(an_absent_plugin_is_not_missed_by_an_image_with_its_own)
{
    sides_have("a", NULL, "a");
    added[0] = OTHER;
    has_gpus = true;
    nodes = 2;
    absent = FIRST;
    ck_assert_int_eq(use("auto", "libberth-none.so.1", 0), -1);
    setenv("NET_PLUGIN", "ours", 1);
    ck_assert_msg(use("auto", "libberth-none.so.1", 0) == 0, "%s", sides.err.text);
}

TEST(a_static_program_has_a_network_of_its_own)
{
    sides_compile_static();
    ck_assert_int_eq(use("auto", NET, 1), 0);
    ck_assert_int_eq(use("net", NET, 1), -1);
    ck_assert_ptr_nonnull(strstr(sides.err.text,
                                 "/app' is linked statically, and has no library that "
                                 "the host's could replace; leave "
                                 "--container-libs out"));
}

void unit_prepare(TCase *tests)
{
    tcase_add_checked_fixture(tests, sides_set_up, sides_tear_down);
}
