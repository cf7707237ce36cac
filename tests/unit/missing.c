/* SPDX-License-Identifier: Apache-2.0 */
/* Suggestions for a path where there is no image. */

#include "request/missing.h"

#include <stdio.h>
#include <sys/stat.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

static void make(const char *name)
{
    BERTH_FREE char *path = unit_path(unit_dir, name);

    unit_write(path, "x", 1);
}

/* The current directory is the one with the files. */
static void setup(void)
{
    BERTH_FREE char *images = NULL;

    ck_assert_int_eq(chdir(unit_dir), 0);
    images = unit_path(unit_dir, "images");
    ck_assert_int_eq(mkdir(images, 0755), 0);
    ck_assert_int_eq(symlink("nowhere.sif", "link.sif"), 0);
    ck_assert_int_eq(symlink("nowhere:1.2", "link:1.2"), 0);
    make("atm.sif");
    make("y.sif");
    make("atm.sh");
    make("ocean-model.sif");
    make("pytorch_24.01.sif");
    make("images/ice.sif");
}

#define PLAIN       "not found; check the path, and that the nodes see this file system"
#define MEANT       "not found; did you mean "
#define SHORT(name) PLAIN ", or write docker://" name " for an image of a registry"
#define BUILD       "not found; make an image of it first: apptainer build image.sif "
#define PULLED_ANYWHERE                                                                \
    "not found; for an image of a registry write docker://nvcr.io/NAME:TAG (Slurm "    \
    "cuts "                                                                            \
    "an #SBATCH line at '#')"

static const struct {
    const char *name;
    const char *error;
    bool in_registry;
} cases[] = {
    {"atm", MEANT "'atm.sif'?", true},
    {"esm.sif", PLAIN, false},
    {"atl.sif", MEANT "'atm.sif'?", false},
    {"X.sif", PLAIN, false},
    {"ocean_model.sif", MEANT "'ocean-model.sif'?", false},
    {"pytorch_24.10.sif", MEANT "'pytorch_24.01.sif'?", false},
    {"imags", MEANT "'images'?", true},
    {"imges/ice.sif", "not found; did you mean 'images'?", false},
    {"images/ise.sif", MEANT "'ice.sif'?", false},
    {"ocn.sif", PLAIN, false},
    {"other/atm.sif", PLAIN, false},
    {"link.sif", PLAIN, false},
    {"link:1.2", PLAIN, false},
    {"atm.sif/x.sif", PLAIN, false},
    {"atm.sif/", PLAIN, false},
    {"zebra", SHORT("zebra"), true},
    {"pytorch/pytorch", SHORT("pytorch/pytorch"), true},
    {"Zebra", PLAIN, false},
    {"other/models/zebra", PLAIN, false},
    {"other/", PLAIN, false},
    {"docker:26.1-dind", MEANT "'docker://docker:26.1-dind'?", true},
    {"me@nvcr.io#nvidia/app:1", MEANT "'docker://nvcr.io/nvidia/app:1'?", true},
    {"docker-daemon:x:1", BUILD "docker-daemon:x:1", true},
    {"oci:/tmp/x", BUILD "oci:/tmp/x", true},
    {"docker-archive:/tmp/x.tar", BUILD "docker-archive:/tmp/x.tar", true},
    {"ubuntu:22.04", MEANT "'docker://ubuntu:22.04'?", true},
    {"nvcr.io#nvidia/app:1", MEANT "'docker://nvcr.io/nvidia/app:1'?", true},
    {"nvcr.io/nvidia/app", MEANT "'docker://nvcr.io/nvidia/app'?", true},
    {"nvcr.io", PULLED_ANYWHERE, true},
    {"images/ubuntu:22.04", PLAIN, false},
    {"images/nvcr.io/app", PLAIN, false},
    {"images/nvcr.io", PLAIN, false},
};

static void expect(const char *path, const char *error, bool in_registry)
{
    BERTH_FREE char *expected = NULL;
    struct berth_err err;

    expected = unit_format("image '%s': %s", path, error);
    ck_assert_int_eq(berth_missing_explain(path, &err), -1);
    ck_assert_str_eq(err.text, expected);
    ck_assert_int_eq(berth_missing_in_registry(path), in_registry);
    ck_assert(!berth_missing_everywhere(path)); /* nothing is shared here */
}

TEST_ROWS(what_was_meant_is_told, cases)
{
    BERTH_FREE char *path = unit_path(unit_dir, cases[_i].name);

    expect(path, cases[_i].error, cases[_i].in_registry);
}

static const char *const elsewhere[] = {"scratch/images/app:1.2", "github.com/u/app",
                                        "nvcr.io", "nvcr.io#nvidia/app"};

TEST_ROWS(a_path_from_elsewhere_is_no_name_in_a_registry, elsewhere)
{
    BERTH_FREE char *path = unit_path(unit_dir, elsewhere[_i]);
    BERTH_FREE char *top = unit_path("", elsewhere[_i]);

    ck_assert_int_eq(chdir("images"), 0);
    expect(path, PLAIN, false);
    ck_assert_int_eq(chdir("/"), 0);
    expect(path, PLAIN, false);
    expect(top, PLAIN, false);
}

static const struct {
    const char *name;
    const char *uri; /* NULL: it is a path */
} names[] = {
    {"ubuntu:22.04", "docker://ubuntu:22.04"},
    {"nvcr.io#nvidia/app:1", "docker://nvcr.io/nvidia/app:1"},
    {"nvcr.io/nvidia/app", "docker://nvcr.io/nvidia/app"},
    {"$oauthtoken@nvcr.io#nvidia/app:1", "docker://nvcr.io/nvidia/app:1"},
    {"docker:26.1-dind", "docker://docker:26.1-dind"},
    {"app@sha256:1f", "docker://app@sha256:1f"},
    {"docker:ubuntu", NULL},
    {"docker-daemon:x:1", NULL},
    {"docker://nvcr.io#nvidia/app:1", NULL},
    {"file:///x", NULL},
    {"images/ubuntu:22.04", NULL},
    {"link:1.2", NULL},
    {"./ubuntu:22.04", NULL},
    {"/ubuntu:22.04", NULL},
    {"ubuntu", NULL},
    {"nvcr.io", NULL},
    {"a:b.sif", NULL},
};

static void becomes(const char *name, const char *base, const char *expected)
{
    BERTH_BUF struct berth_buf uri = {0};

    ck_assert_int_eq(berth_missing_names_image(name, base, &uri), expected != NULL);
    if (expected)
        ck_assert_str_eq(uri.text, expected);
    else
        ck_assert_uint_eq(uri.used, 0);
}

TEST_ROWS(a_name_that_is_not_a_file_is_an_image, names)
{
    becomes(names[_i].name, unit_dir, names[_i].uri);
    becomes(names[_i].name, NULL, NULL);
}

static const struct {
    const char *name;
    const char *uri; /* NULL: it is not such a word */
} words[] = {
    {"zebra", "docker://zebra"},
    {"pytorch/pytorch", "docker://pytorch/pytorch"},
    {"atm", NULL},
    {"images/zebra", NULL},
    {"Zebra", NULL},
    {"zebra.sif", NULL},
};

TEST_ROWS(a_word_may_be_an_image, words)
{
    BERTH_FREE char *path = unit_path(unit_dir, words[_i].name);
    BERTH_BUF struct berth_buf uri = {0};

    ck_assert_int_eq(berth_missing_is_word(path, &uri), words[_i].uri != NULL);
    if (words[_i].uri)
        ck_assert_str_eq(uri.text, words[_i].uri);
}

/* A long path fits the message, which has it once. */
TEST(a_name_in_a_long_path_is_told_whole)
{
    BERTH_FREE char *deep = NULL;
    BERTH_FREE char *path = NULL;

    deep = unit_format("%0250d/%0250d/%0200d/images", 0, 0, 0);
    for (char *slash = deep; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        ck_assert_int_eq(mkdir(deep, 0755), 0);
    }
    ck_assert_int_eq(mkdir(deep, 0755), 0);
    deep[strlen(deep) - strlen("images")] = '\0';
    path = unit_format("%s/%simges/ice.sif", unit_dir, deep);
    expect(path, "not found; did you mean 'images'?", false);
}

TEST(a_path_below_nothing_is_no_harm)
{
    struct berth_err err;

    ck_assert_int_eq(berth_missing_explain("/no/where/x.sif", &err), -1);
    ck_assert_str_eq(err.text, "image '/no/where/x.sif': " PLAIN);
    ck_assert_int_eq(berth_missing_explain("x.sif", &err), -1);
    ck_assert_str_eq(err.text, "image 'x.sif': " PLAIN);
    ck_assert(!berth_missing_everywhere("/no/where/x.sif"));
}

TEST(a_file_system_of_several_hosts_is_known_by_its_type)
{
    struct statfs here;

    ck_assert(berth_missing_is_shared(NFS_SUPER_MAGIC));
    ck_assert(berth_missing_is_shared(0x0BD00BD0)); /* Lustre */
    ck_assert(!berth_missing_is_shared(EXT4_SUPER_MAGIC));
    ck_assert(!berth_missing_is_shared(0x65735546)); /* FUSE: sshfs is not shared */
    ck_assert_int_eq(statfs("/proc", &here), 0);
    ck_assert(!berth_missing_is_shared((unsigned int)here.f_type));
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
    tcase_add_checked_fixture(tests, setup, NULL);
}
