/* SPDX-License-Identifier: Apache-2.0 */
/* What berth.yaml decides about MPI, and what it does not. */

#include "site/digest.h"

#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "site/siteread.h"
#include "unit.h"

static void digest(const char *text, const char *profiles, char ret[BERTH_DIGEST_SIZE])
{
    BERTH_SITE struct berth_site site;
    BERTH_STRVEC struct berth_strvec faults = {0};
    struct berth_err err;

    ck_assert_int_eq(berth_site_parse("f", text, strlen(text), &site, &faults, &err),
                     0);
    ck_assert_uint_eq(faults.count, 0);
    free(site.profiles_dir);
    site.profiles_dir = profiles ? strdup(profiles) : NULL;
    ck_assert_int_eq(berth_digest_of(&site, getuid(), ret, &err), 0);
}

static const struct {
    const char *one;
    const char *other;
    bool is_same;
} pairs[] = {
    {"", "", true},
    {"", "rules: [{force: {mpi-bind: host}}]", false},
    {"rules: [{default: {mpi-bind: host}}]", "rules: [{force: {mpi-bind: host}}]",
     false},
    {"rules: [{partition: a, force: {mpi-bind: host}}]",
     "rules: [{force: {mpi-bind: host}}]", false},
    {"rules: [{force: {container-image: /a}}]",
     "rules: [{force: {container-image: /b}}]", false},
    {"rules: [{force: {container-libs: ucx}}]", "", false},
    {"mpi: {order: [mpich]}", "", false},
    {"mpi: {order: [mpich, openmpi]}", "mpi: {order: [openmpi, mpich]}", false},
    {"mpi: {glibc: refuse}", "", false},
    {"mpi: {compare: no}", "", true},
    {"# push\nmpi: {}\n", "", true},
    {"mounts: {default: [/srv]}\nimages: {missing: warn}\n", "", true},
    {"rules: [{forbid: [container-writable]}, {force: {container-env: [A=1]}}]", "",
     true},
};

TEST_ROWS(what_decides_about_mpi_makes_another_digest, pairs)
{
    char one[BERTH_DIGEST_SIZE], other[BERTH_DIGEST_SIZE];

    digest(pairs[_i].one, NULL, one);
    digest(pairs[_i].other, NULL, other);
    ck_assert_msg(!strcmp(one, other) == pairs[_i].is_same, "%s, %s", pairs[_i].one,
                  pairs[_i].other);
}

TEST(profiles_of_the_site_count)
{
    char directory[] = "/tmp/berth-digest.XXXXXX";
    char none[BERTH_DIGEST_SIZE], one[BERTH_DIGEST_SIZE], other[BERTH_DIGEST_SIZE];
    BERTH_FREE char *file = NULL;
    FILE *stream;

    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_int_gt(asprintf(&file, "%s/x.yaml", directory), 0);
    digest("", directory, none);
    stream = fopen(file, "w");
    fputs("name: x\nfamily: mpich\nprefix: /opt/a\n", stream);
    fclose(stream);
    digest("", directory, one);
    stream = fopen(file, "w");
    fputs("name: x\nfamily: mpich\nprefix: /opt/b\n", stream);
    fclose(stream);
    digest("", directory, other);
    unlink(file);
    rmdir(directory);
    ck_assert_str_ne(none, one);
    ck_assert_str_ne(one, other);
}

#define HEX "0123456789abcdef"
#define DIFFERS                                                                        \
    "berth.yaml of this node, or profiles.d, decides otherwise about MPI than that "   \
    "of "                                                                              \
    "login-1.x, and all nodes of a step must decide alike; have the same files on "    \
    "all "                                                                             \
    "hosts (mpi.compare in berth.yaml)"

static const struct {
    const char *own;
    const char *sent;
    const char *error;
} sent[] = {
    {HEX ".none", HEX ".none login-1.x", ""},
    {HEX "." HEX, HEX "." HEX " login-1.x", ""},
    {HEX "." HEX, HEX ".none login-1.x", ""}, /* a login host without profiles */
    {HEX ".none", HEX "." HEX " login-1.x", DIFFERS},
    {HEX "." HEX, HEX ".0" HEX " login-1.x", DIFFERS},
    {HEX ".none", "0" HEX ".none login-1.x", DIFFERS},
    {HEX ".none", "x", DAMAGED("x")},
    {HEX ".none", "x y.z", DAMAGED("x y.z")},
    {HEX ".none", HEX ".none a;b", DAMAGED(HEX ".none a;b")},
    {HEX ".none", HEX ".none ", DAMAGED(HEX ".none ")},
};

TEST_ROWS(hosts_are_compared, sent)
{
    struct berth_err err = {.text = ""};
    int result = berth_digest_check(sent[_i].own, sent[_i].sent, &err);

    ck_assert_str_eq(err.text, sent[_i].error);
    ck_assert_int_eq(result, *sent[_i].error ? -1 : 0);
}
