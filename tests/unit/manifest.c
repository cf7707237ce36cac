/* SPDX-License-Identifier: Apache-2.0 */
/* What a stage's manifest says, written and read. */

#include "bindover/manifest.h"

#include "base/cleanup.h"
#include "unit.h"

#define HEAD "berth-stage\t5\nprofile\tmpich\tMPICH 4.2.1\n"
#define FROM "from\t/usr/lib/libmpich.so.12\n"
#define AT   "mounted\t/.berth/user/mpich-1\n"

static const char whole[] = HEAD FROM AT
    "file\tlib/libmpich.so.12\tlibmpich.so.12\t52734312\n"
    "file\tetc/tuning.dat\t-\t0\n"
    "link\tmpi/libmpi.so.12\t../lib/libmpich.so.12\n"
    "set\tUCX_MODULE_DIR\t/.berth/user/mpich-1/lib/ucx\n"
    "set\tEMPTY\t\n"
    "set\tEQUAL\ta=b\n"
    "source\t/usr/lib/libmpich.so.12\t2049\t18446744073709551615\t52734312\t"
    "1745848800000000001\n"
    "absent\t/etc/ucx/ucx.conf\n"
    "end\n";

TEST(what_is_read_is_what_was_written)
{
    struct berth_manifest manifest;
    BERTH_BUF struct berth_buf again = {0};
    BERTH_FREE char *text = strdup(whole);
    struct berth_err err;

    ck_assert_msg(berth_manifest_read(text, &manifest, &err) == 0, "%s", err.text);
    ck_assert_str_eq(manifest.version, "MPICH 4.2.1");
    ck_assert_int_eq(manifest.file_count, 2);
    ck_assert_uint_eq(manifest.files[0].size, 52734312);
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
    {"berth-stage\t4\nend\n", "berth-stage\t4"},
    {HEAD FROM AT, "end"},
    {HEAD FROM AT "file\tlib/li", "file"},
    {HEAD FROM "end\n", "mounted"},
    {HEAD HEAD FROM AT "end\n", "berth-stage"},
    {HEAD FROM FROM AT "end\n", "from"},
    {HEAD FROM AT "link\ta\tb\tc\td\te\tf\tg\nend\n", "link"},
    {HEAD FROM AT "file\ta\t-\t1x\nend\n", "1x"},
    {HEAD FROM AT "file\ta\t-\t-1\nend\n", "-1"},
    {HEAD FROM AT "file\ta\t-\t99999999999999999999\nend\n", "99999999999999999999"},
    {HEAD FROM AT "file\t/etc/passwd\t-\t1\nend\n", "/etc/passwd"},
    {HEAD FROM AT "link\tlib/../../x\ty\nend\n", "lib/../../x"},
    {HEAD FROM AT "source\t/x\t1\t2\t3\tfour\nend\n", "four"},
};

TEST_ROWS(another_text_is_refused, bad)
{
    struct berth_manifest manifest;
    BERTH_FREE char *text = strdup(bad[_i].text);
    struct berth_err err, expected;

    berth_err_damaged(&expected, "%s", bad[_i].part);
    ck_assert_int_eq(berth_manifest_read(text, &manifest, &err), -1);
    ck_assert_str_eq(err.text, expected.text);
}

TEST(a_name_with_a_tab_is_refused)
{
    struct berth_manifest manifest = {0};
    const struct berth_staged_source source = {.path = (char *)"/a\tb"};
    struct berth_err err;

    ck_assert_int_eq(berth_manifest_add_source(&manifest, &source, &err), -1);
    ck_assert_str_eq(err.text,
                     "'/a\\x09b': has a tab or a newline in its name; rename it");
    berth_manifest_fini(&manifest);
}
