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
    "&links=mpi/libmpi.so.12&links=../lib/libmpich.so.12"
    "&set=UCX_MODULE_DIR%3D/.berth/user/mpich-1/lib/ucx&set=EMPTY%3D&set=EQUAL%3Da%3Db"
    "&absent=/etc/ucx/ucx.conf"
    ";file:file=lib/libmpich.so.12&soname=libmpich.so.12&size=52734312"
    ";file:file=etc/a%09b&soname=-"
    ";source:path=/usr/lib/libmpich.so.12&device=2049&inode=18446744073709551615"
    "&size=52734312&time=1745848800000000001" END;

TEST(what_is_read_is_what_was_written)
{
    struct berth_manifest manifest;
    BERTH_BUF struct berth_buf again = {0};
    struct berth_err err;

    ck_assert_msg(berth_manifest_read(whole, &manifest, &err) == 0, "%s", err.text);
    ck_assert_str_eq(manifest.version, "MPICH 4.2.1");
    ck_assert_int_eq(manifest.file_count, 2);
    ck_assert_uint_eq(manifest.files[0].size, 52734312);
    ck_assert_str_eq(manifest.files[1].file, "etc/a\tb");
    ck_assert_str_eq(manifest.files[1].soname, "-");
    ck_assert_str_eq(manifest.links.items[1], "../lib/libmpich.so.12");
    ck_assert_str_eq(manifest.set.items[1], "EMPTY=");
    ck_assert_str_eq(manifest.set.items[2], "EQUAL=a=b");
    ck_assert_uint_eq(manifest.sources[0].inode, UINT64_MAX);
    ck_assert_uint_eq(manifest.sources[0].time, 1745848800000000001U);
    ck_assert_str_eq(manifest.absent.items[0], "/etc/ucx/ucx.conf");
    ck_assert_int_eq(berth_manifest_write(&manifest, &again, &err), 0);
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
    {STAGE ";file:file=a" END, "manifest"},
    {STAGE ";source:inode=1" END, "manifest"},
    {STAGE ";other:x=1" END, "x"},
    {STAGE ";file:size=1x" END, "size"},
    {STAGE ";file:size=-1" END, "size"},
    {STAGE ";file:size=99999999999999999999" END, "size"},
    {STAGE ";file:file=/etc/passwd&soname=-" END, "/etc/passwd"},
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
