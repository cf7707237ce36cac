/* SPDX-License-Identifier: Apache-2.0 */
/* What a stage's manifest says, written and read. */

#include "bindover/manifest.h"

#include "base/cleanup.h"
#include "unit.h"

#define STAGE                                                                          \
    "1;stage:profile=mpich&version=MPICH%204.2.1&from=/usr/lib/libmpich.so.12"         \
    "&mounted=/.berth/user/mpich-1"
#define END ";."

static const char whole[] = STAGE
    "&files=lib/libmpich.so.12&files=libmpich.so.12&files=52734312"
    "&files=etc/a%09b&files=&files=0"
    "&links=mpi/libmpi.so.12&links=../lib/libmpich.so.12"
    "&set=UCX_MODULE_DIR%3D/.berth/user/mpich-1/lib/ucx&set=EMPTY%3D&set=EQUAL%3Da%3Db"
    "&sources=/usr/lib/libmpich.so.12&sources=1.2.52734312.1745848800.000000001"
    "&sources=/etc/ucx/ucx.conf&sources=" END;

TEST(what_is_read_is_what_was_written)
{
    struct berth_manifest manifest;
    BERTH_BUF struct berth_buf again = {0};
    struct berth_err err;

    ck_assert_msg(berth_manifest_read(whole, &manifest, &err) == 0, "%s", err.text);
    ck_assert_str_eq(manifest.version, "MPICH 4.2.1");
    ck_assert_uint_eq(manifest.files.count, 2 * BERTH_MANIFEST_FILE);
    ck_assert_str_eq(manifest.files.items[2], "52734312");
    ck_assert_str_eq(manifest.files.items[3], "etc/a\tb");
    ck_assert_str_eq(manifest.files.items[4], "");
    ck_assert_str_eq(manifest.links.items[1], "../lib/libmpich.so.12");
    ck_assert_str_eq(manifest.set.items[1], "EMPTY=");
    ck_assert_str_eq(manifest.set.items[2], "EQUAL=a=b");
    ck_assert_str_eq(manifest.sources.items[2], "/etc/ucx/ucx.conf");
    berth_manifest_write(&manifest, &again);
    ck_assert_str_eq(again.text, whole);
    berth_manifest_fini(&manifest);
}

static const struct {
    const char *text;
    const char *part;
} bad[] = {
    {"", ""},
    {"berth-stage 5", "berth-stage 5"},
    {"1;stage:a=b", "1;stage:a=b"}, /* it is cut off */
    {"1;stage:profile=mpich" END, "manifest"},
    {STAGE "&links=a" END, "manifest"},
    {STAGE "&set=a" END, "manifest"},
    {STAGE "&files=a" END, "manifest"},
    {STAGE "&sources=a" END, "manifest"},
    {STAGE "&x=1" END, "x"},
    {STAGE ";other:x=1" END, "manifest"},
    {"1;other:profile=mpich" END, "manifest"},
    {STAGE "&files=/etc/passwd&files=&files=1" END, "/etc/passwd"},
    {STAGE "&links=lib/../../x&links=y" END, "lib/../../x"},
};

TEST_ROWS(another_text_is_refused, bad)
{
    struct berth_manifest manifest;
    struct berth_err err, expected;

    berth_err_damaged(&expected, "%s", bad[_i].part);
    ck_assert_int_eq(berth_manifest_read(bad[_i].text, &manifest, &err), -1);
    ck_assert_str_eq(err.text, expected.text);
}
